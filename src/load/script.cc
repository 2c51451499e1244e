// SPDX-License-Identifier: Apache-2.0
#include "load/script.h"

#include "base/random.h"

namespace tidemill {

bool ItemFails(const Script& script, std::int64_t item) {
  if (script.failing_ppm == 0) return false;
  SeededRandom random(script.seed ^ static_cast<std::uint64_t>(item), "item");
  return random.Below(1'000'000) < static_cast<std::uint64_t>(script.failing_ppm);
}

std::int64_t FailingItems(const Script& script, std::int64_t n) {
  std::int64_t failing = 0;
  for (std::int64_t item = 0; item < n; ++item) failing += ItemFails(script, item) ? 1 : 0;
  return failing;
}

}  // namespace tidemill
