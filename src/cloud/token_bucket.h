// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/loop.h"

namespace tidemill {

// How often something may be done: `burst` times at once, and on average `a_second` times. Whoever
// takes is told how long to wait, so those who wait come one after another. Pure.
class TokenBucket {
 public:
  TokenBucket(double a_second, double burst);

  // How long to wait first. Nothing: that would be longer than `most`, and nothing was taken.
  std::optional<Duration> Take(TimePoint now, Duration most);
  // Somebody said that it was too often: what is left is not used.
  void Empty(TimePoint now);

 private:
  void Fill(TimePoint now);

  // Constant after construction.
  const double a_second_;
  const double burst_;

  double tokens_;  // below zero: so many wait
  std::optional<TimePoint> at_ = {};
};

}  // namespace tidemill
