// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "base/loop.h"

namespace tidemill {

// What a job would take if nothing but its items took time.
struct Packing {
  Duration work{};   // of all items together
  Duration ideal{};  // each slot takes the next item, in their order, as soon as it is free
  Duration bound{};  // work / slots: no order of the items takes less
};

// `length` gives what an item takes; there is at least one slot.
Packing PackItems(std::int64_t items, std::int64_t slots,
                  const std::function<Duration(std::int64_t)>& length);

}  // namespace tidemill
