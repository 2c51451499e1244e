// SPDX-License-Identifier: Apache-2.0
#include "rehearse/packing.h"

#include <algorithm>
#include <queue>
#include <vector>

#include "base/check.h"

namespace tidemill {

Packing PackItems(std::int64_t items, std::int64_t slots,
                  const std::function<Duration(std::int64_t)>& length) {
  TIDEMILL_CHECK(slots > 0);
  Packing packing;
  // When each slot in use is free next; more slots than items are never used.
  std::priority_queue<Duration, std::vector<Duration>, std::greater<>> free;
  for (std::int64_t item = 0; item < items; ++item) {
    const Duration takes = length(item);
    Duration begin{};
    if (static_cast<std::int64_t>(free.size()) == slots) {
      begin = free.top();
      free.pop();
    }
    free.push(begin + takes);
    packing.work += takes;
    packing.ideal = std::max(packing.ideal, begin + takes);
  }
  packing.bound = packing.work / slots;
  return packing;
}

}  // namespace tidemill
