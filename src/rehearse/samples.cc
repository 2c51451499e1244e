// SPDX-License-Identifier: Apache-2.0
#include "rehearse/samples.h"

namespace tidemill {

void Samples::Add(const Rehearsed::Moment& moment) {
  if (seen_++ % every_ != 0) return;
  moments_.push_back(moment);
  if (moments_.size() <= kMost) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < moments_.size(); i += 2) moments_[kept++] = moments_[i];
  moments_.resize(kept);
  every_ *= 2;
}

}  // namespace tidemill
