// SPDX-License-Identifier: Apache-2.0
#include "plan/pool_room.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace tidemill {

bool ResourcesLess::operator()(const Resources& a, const Resources& b) const {
  return std::tie(a.millicpus, a.memory_bytes, a.devices) <
         std::tie(b.millicpus, b.memory_bytes, b.devices);
}

PoolRoom::PoolRoom(std::size_t pools) : pools_(pools), bundles_(pools + 1) {
  for (std::size_t pool = 0; pool < pools; ++pool) last_.push_back(pool + 1);
}

void PoolRoom::Add(std::size_t pool, const Resources& free, bool empty, std::int64_t machines) {
  if (machines <= 0) return;
  Bundle bundle{free, empty, machines};
  bundle.free.devices.erase(kWholeMachine);
  const std::size_t last = last_[pool];
  InsertAfter(last, std::move(bundle));
  last_[pool] = bundles_[last].next;
}

std::size_t PoolRoom::KindOf(const Resources& need) {
  const auto [found, is_new] = numbers_.emplace(need, kinds_.size());
  if (!is_new) return found->second;
  Kind kind{.need = need, .whole = WantsWholeMachine(need)};
  kind.need.devices.erase(kWholeMachine);
  for (std::size_t pool = 0; pool < pools_; ++pool) kind.after.push_back(pool + 1);
  kinds_.push_back(std::move(kind));
  return kinds_.size() - 1;
}

std::int64_t PoolRoom::SlotsOn(const Bundle& bundle, const Kind& kind) {
  if (bundle.free.millicpus < kind.need.millicpus ||
      bundle.free.memory_bytes < kind.need.memory_bytes) {
    return 0;
  }
  if (kind.whole) return bundle.empty && SlotsIn(bundle.free, kind.need) > 0 ? 1 : 0;
  return SlotsIn(bundle.free, kind.need);
}

Resources PoolRoom::Fill(Bundle& bundle, const Kind& kind, std::int64_t slots) {
  bundle.empty = false;
  if (kind.whole) return std::exchange(bundle.free, Resources{.millicpus = 0});
  Take(bundle.free, kind.need, slots);
  Resources used{.millicpus = 0};
  Take(used, kind.need, -slots);
  return used;
}

void PoolRoom::InsertAfter(std::size_t at, Bundle bundle) {
  bundle.next = bundles_[at].next;
  bundles_[at].next = bundles_.size();
  bundles_.push_back(std::move(bundle));
}

PoolRoom::Placed PoolRoom::Place(std::size_t pool, std::size_t kind_number, std::int64_t slots) {
  Kind& kind = kinds_[kind_number];
  std::size_t& after = kind.after[pool];
  Placed placed;
  while (placed.slots < slots) {
    const std::size_t at = bundles_[after].next;
    if (at == 0) break;
    const std::int64_t each = SlotsOn(bundles_[at], kind);
    if (each == 0) {
      after = at;
      continue;
    }
    // The bundle becomes full machines, one that is begun, and those that stay as they are: in this
    // order, in the place of what it was, so that whoever looks on from before it finds all three.
    const Bundle whole = bundles_[at];
    const std::int64_t take = std::min(slots - placed.slots, each * whole.count);
    const std::int64_t full = take / each;
    const std::int64_t rest = take % each;
    const std::int64_t untouched = whole.count - full - (rest > 0 ? 1 : 0);
    std::vector<Bundle> pieces;
    for (const auto& [on_one, count] :
         {std::pair(each, full), std::pair(rest, rest > 0 ? 1L : 0L)}) {
      if (count == 0) continue;
      pieces.push_back({whole.free, whole.empty, count});
      Take(placed.used, Fill(pieces.back(), kind, on_one), -count);
    }
    if (untouched > 0) pieces.push_back({whole.free, whole.empty, untouched});
    TIDEMILL_CHECK(!pieces.empty());
    const bool was_last = last_[pool] == at;
    pieces.front().next = whole.next;
    bundles_[at] = std::move(pieces.front());
    std::size_t end = at;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      InsertAfter(end, std::move(pieces[i]));
      end = bundles_[end].next;
    }
    if (was_last) last_[pool] = end;
    placed.slots += take;
  }
  return placed;
}

std::int64_t PoolRoom::Touched(std::size_t pool) const {
  std::int64_t machines = 0;
  for (std::size_t at = bundles_[pool + 1].next; at != 0; at = bundles_[at].next) {
    if (!bundles_[at].empty) machines += bundles_[at].count;
  }
  return machines;
}

}  // namespace tidemill
