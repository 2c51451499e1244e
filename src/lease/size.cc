// SPDX-License-Identifier: Apache-2.0
#include "lease/size.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"

namespace tidemill {
namespace {

constexpr double kLeaseMs = 15'000;
// The last hundred items or so decide the mean.
constexpr double kMemoryItems = 100;

}  // namespace

int LeaseItems(const LeaseNeed& need) {
  if (need.slots <= 0) return 0;
  double items = static_cast<double>(need.slots);
  if (need.item_ms) items *= std::max(1.0, kLeaseMs / std::max(*need.item_ms, 1.0));
  const std::int64_t agents = std::max<std::int64_t>(need.agents, 1);
  const auto share = static_cast<double>((need.free_items + agents - 1) / agents);
  items = std::min({items, std::max(share, 1.0), double{limits::kItemsPerChunk}});
  return static_cast<int>(items);
}

void ItemTime::Add(std::int64_t items, std::int64_t run_ms) {
  if (items <= 0 || run_ms < 0) return;
  const double fresh = static_cast<double>(run_ms) / static_cast<double>(items);
  if (!mean_ms_) {
    mean_ms_ = fresh;
    return;
  }
  const double weight = 1 - std::exp(-static_cast<double>(items) / kMemoryItems);
  *mean_ms_ += weight * (fresh - *mean_ms_);
}

}  // namespace tidemill
