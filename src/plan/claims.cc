// SPDX-License-Identifier: Apache-2.0
#include "plan/claims.h"

#include <algorithm>
#include <optional>

#include "base/planted.h"
#include "plan/autoscale.h"

namespace tidemill {
namespace {

constexpr std::int64_t kPerMillion = 1'000'000;

// A pool's own name is its label `pool`, unless it has another one of that name.
bool HasLabels(const PlanPool& pool, const Labels& asked) {
  return std::all_of(asked.begin(), asked.end(), [&](const auto& label) {
    const auto found = pool.labels.find(label.first);
    if (found == pool.labels.end()) return label.first == "pool" && label.second == pool.name;
    return found->second == label.second;
  });
}

bool HasDevices(const Resources& shape, const Devices& asked) {
  return SlotsIn(shape, {.millicpus = 0, .memory_bytes = 0, .devices = asked}) > 0;
}

// A pool that is not spot, and has machines or could get some as far as is known: what was
// interrupted often does not wait for one that may never come.
bool IsLasting(const SnapshotIndex& index, std::size_t number) {
  const PlanPool& pool = index.snapshot().pools[number];
  if (pool.spot) return false;
  if (index.Coming(number) > 0) return true;
  const std::optional<Money> cap = PriceCap(pool);
  return !pool.provider.empty() && MaxMachines(pool) > 0 && !pool.provider_word.no_capacity_until &&
         pool.never_joined < kNeverJoinedMost && !(cap && pool.price > *cap);
}

Claim ClaimOn(const SnapshotIndex& index, std::size_t job, std::size_t queue, bool only_lasting) {
  Claim claim{.job = job, .queue = queue, .worn = only_lasting};
  for (const std::string& name : index.snapshot().queues[queue].pools) {
    const auto pool = index.FindPool(name);
    if (PoolBarOf(index, job, pool) != PoolBar::kNone) continue;
    if (only_lasting && !IsLasting(index, *pool)) continue;
    if (index.RestsEverywhere(job, *pool)) continue;  // it would keep others from their share
    if (std::count(claim.pools.begin(), claim.pools.end(), *pool) > 0) continue;  // named twice
    claim.pools.push_back(*pool);
    claim.costs.push_back(SlotCostOf(index, job, *pool));
  }
  return claim;
}

std::int64_t MostWaiting(const SnapshotIndex& index) {
  std::int64_t most = 0;
  for (const PlanJob& job : index.snapshot().jobs) most = std::max(most, job.waiting);
  return most;
}

}  // namespace

JobBar JobBarOf(const SnapshotIndex& index, std::size_t number) {
  const PlanJob& job = index.snapshot().jobs[number];
  if (job.paused) return JobBar::kPaused;
  if (!job.after.empty()) return JobBar::kAfter;
  const auto queue = index.FindQueue(job.queue);
  if (!queue) return JobBar::kNoQueue;
  const Queue& its = index.snapshot().queues[*queue];
  if (its.disabled) return JobBar::kQueueDisabled;
  if (job.waiting <= 0) return JobBar::kNothingWaits;
  const bool allowed = std::any_of(its.pools.begin(), its.pools.end(), [&](const auto& name) {
    return PoolBarOf(index, number, index.FindPool(name)) == PoolBar::kNone;
  });
  return allowed ? JobBar::kNone : JobBar::kNoPool;
}

PoolBar PoolBarOf(const SnapshotIndex& index, std::size_t number, std::optional<std::size_t> pool) {
  if (!pool) return PoolBar::kMissing;
  const PlanPool& its = index.snapshot().pools[*pool];
  const PlanJob& job = index.snapshot().jobs[number];
  if (its.disabled) return PoolBar::kDisabled;
  if (!HasLabels(its, job.labels)) return PoolBar::kLabels;
  const std::vector<Resources>& shapes = index.Shapes(*pool);
  // Nobody knows what will join a pool that has no provider.
  if (shapes.empty()) return PoolBar::kNone;
  bool has_devices = false;
  for (const Resources& shape : shapes) {
    if (SlotsIn(shape, job.need) > 0) return PoolBar::kNone;
    has_devices = has_devices || HasDevices(shape, job.need.devices);
  }
  return has_devices ? PoolBar::kTooLarge : PoolBar::kDevices;
}

std::int64_t MachinePpm(const Resources& shape, const Resources& need) {
  if (WantsWholeMachine(need)) return kPerMillion;
  std::int64_t most = 0;
  const auto of = [&most](std::int64_t asked, std::int64_t has) {
    if (asked > 0) most = std::max(most, has > 0 ? MulDiv(asked, kPerMillion, has) : kPerMillion);
  };
  of(need.millicpus, shape.millicpus);
  of(need.memory_bytes, shape.memory_bytes);
  for (const auto& [kind, asked] : need.devices) {
    const auto found = shape.devices.find(kind);
    of(asked.count, found == shape.devices.end() ? 0 : found->second.count);
  }
  return std::min(most, kPerMillion);
}

SlotCost SlotCostOf(const SnapshotIndex& index, std::size_t number, std::size_t pool) {
  const PlanJob& job = index.snapshot().jobs[number];
  const Resources* shape = index.Shape(pool);
  SlotCost cost;
  cost.machine_ppm = shape == nullptr ? 0 : MachinePpm(*shape, job.need);
  cost.an_hour = {MulDiv(index.snapshot().pools[pool].price.micros, cost.machine_ppm, kPerMillion)};
  Duration window = kBudgetWindow;
  if (job.times) window += job.times->mean + job.times->spread;
  cost.committed = CostOf(cost.an_hour, window);
  return cost;
}

std::vector<Claim> ClaimsOf(const SnapshotIndex& index) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < index.snapshot().jobs.size(); ++i) {
    const PlanJob& job = index.snapshot().jobs[i];
    const std::int64_t running = index.RunningTotal(i);
    if (Planted(Plant::kSmallStarves) && 4 * job.waiting < MostWaiting(index)) continue;
    const JobBar bar = JobBarOf(index, i);
    if (bar != JobBar::kNone && !(bar == JobBar::kNothingWaits && running > 0)) continue;
    const std::size_t queue = *index.FindQueue(job.queue);
    Claim claim = ClaimOn(index, i, queue, false);
    if (claim.pools.empty()) continue;
    claim.running = running;
    claim.waiting = job.waiting;
    claim.leased = job.leased;
    if (job.worn_waiting > 0 || job.worn_leased > 0) {
      Claim worn = ClaimOn(index, i, queue, true);
      if (!worn.pools.empty()) {
        std::int64_t on_lasting = 0;
        for (const std::size_t pool : worn.pools) {
          const auto found = index.Running(i).find(pool);
          if (found != index.Running(i).end()) on_lasting += found->second;
        }
        worn.running = std::min(job.worn_leased, on_lasting);
        worn.waiting = std::min(job.worn_waiting, job.waiting);
        // What is leased elsewhere stays there, worn or not.
        worn.leased = worn.running;
        claim.running -= worn.running;
        claim.waiting -= worn.waiting;
        claim.leased -= worn.leased;
        claims.push_back(std::move(worn));
      }
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace tidemill
