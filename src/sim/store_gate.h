// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "sim/fault_dice.h"
#include "sim/faults.h"

namespace tidemill {

// Decides of each call of a store whether it fails: before it was carried out, or after.
class StoreGate {
 public:
  StoreGate(FaultDice& dice, const StoreFaults& faults) : dice_(dice), faults_(faults) {}

  template <typename Work>
  auto Call(Work work) -> decltype(work()) {
    if (dice_.Happens(faults_.unavailable)) return Fail(Code::kUnavailable, "the store is away");
    auto result = work();
    if (dice_.Happens(faults_.unknown)) return Fail(Code::kUnknown, "the store's answer was lost");
    return result;
  }

  // A leader stands still between what it has read and what it writes.
  bool IsStale() { return dice_.Happens(faults_.stale); }

 private:
  FaultDice& dice_;
  const StoreFaults& faults_;
};

}  // namespace tidemill
