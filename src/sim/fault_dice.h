// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "base/random.h"

namespace tidemill {

// Whether a fault happens, by the numbers of one stream. Each that does is told.
class FaultDice {
 public:
  explicit FaultDice(
      Random& random, std::function<void()> on_fault = [] {})
      : random_(random), on_fault_(std::move(on_fault)) {}

  bool Happens(double chance) {
    const bool happens = random_.Chance(chance);
    if (happens) on_fault_();
    return happens;
  }
  // The same with the numbers of another stream.
  FaultDice With(Random& random) const { return FaultDice(random, on_fault_); }
  // For all else that is drawn beside it: how long, which one.
  Random& random() { return random_; }

 private:
  Random& random_;
  const std::function<void()> on_fault_;
};

}  // namespace tidemill
