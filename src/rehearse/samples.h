// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "wire/rehearsal_json.h"

namespace tidemill {

// What was seen over time, at most kMost moments of it: each time that there are more, every second
// one is dropped, and from then on only half as many are taken.
class Samples {
 public:
  static constexpr std::size_t kMost = 512;  // more than a plot or a reader can use

  void Add(const Rehearsed::Moment& moment);
  // Whatever was dropped before: nothing comes after it.
  void AddLast(const Rehearsed::Moment& moment) { moments_.push_back(moment); }
  const std::vector<Rehearsed::Moment>& moments() const { return moments_; }

 private:
  std::vector<Rehearsed::Moment> moments_;
  std::size_t every_ = 1;
  std::size_t seen_ = 0;
};

}  // namespace tidemill
