// SPDX-License-Identifier: Apache-2.0
#include "cloud/token_bucket.h"

#include <algorithm>
#include <chrono>

namespace tidemill {

TokenBucket::TokenBucket(double a_second, double burst)
    : a_second_(a_second), burst_(burst), tokens_(burst) {}

void TokenBucket::Fill(TimePoint now) {
  if (at_ && now > *at_) {
    const std::chrono::duration<double> passed = now - *at_;
    tokens_ = std::min(burst_, tokens_ + passed.count() * a_second_);
  }
  at_ = at_ ? std::max(*at_, now) : now;
}

std::optional<Duration> TokenBucket::Take(TimePoint now, Duration most) {
  Fill(now);
  const double missing = std::max(0.0, 1 - tokens_);
  const auto wait = std::chrono::ceil<Duration>(std::chrono::duration<double>(missing / a_second_));
  if (wait > most) return std::nullopt;
  tokens_ -= 1;
  return wait;
}

void TokenBucket::Empty(TimePoint now) {
  Fill(now);
  tokens_ = std::min(tokens_, 0.0);
}

}  // namespace tidemill
