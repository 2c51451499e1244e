// SPDX-License-Identifier: Apache-2.0
#include "plan/demand.h"

#include <algorithm>
#include <tuple>

namespace tidemill {
namespace {

Duration TimeFor(const PlanJob& job, TimePoint now) {
  if (!job.deadline) return kTurnaround;
  const Duration left = (*job.deadline - now - kDeadlineBoot) * kDeadlinePercent / 100;
  // What cannot be done in time is done as fast as items allow.
  return std::max({left, job.times->mean, kBilledAtLeast});
}

std::int64_t Payable(const PlanJob& job, const Claim& claim, std::int64_t items) {
  const Money item = CostOf(claim.costs.front().an_hour, job.times->mean);
  if (!job.budget || item.micros <= 0) return items;
  return std::clamp<std::int64_t>((*job.budget - job.spent).micros / item.micros, 0, items);
}

Demand DemandOf(const SnapshotIndex& index, const std::vector<Claim>& claims, std::size_t number,
                TimePoint now) {
  const Claim& claim = claims[number];
  const PlanJob& job = index.snapshot().jobs[claim.job];
  std::int64_t items = ItemsLeft(index, claim);
  if (!job.times) {
    std::int64_t on_one = 1;
    for (const Resources& shape : index.Shapes(claim.pools.front())) {
      on_one = std::max(on_one, SlotsIn(shape, job.need));
    }
    return {number, std::min(items, kCanaryMachines * on_one), true};
  }
  items = Payable(job, claim, items);
  const auto mean = std::max<std::int64_t>(job.times->mean.count(), 1);
  const std::int64_t time = TimeFor(job, now).count();
  return {number, std::min(MulDivUp(items, mean, time), items), false};
}

}  // namespace

std::int64_t ItemsLeft(const SnapshotIndex& index, const Claim& claim) {
  const PlanJob& job = index.snapshot().jobs[claim.job];
  const std::int64_t worn = std::min(job.worn_leased, job.leased);
  const std::int64_t leased = claim.worn ? worn : job.leased - worn;
  return claim.waiting + std::max(leased, claim.running);
}

std::vector<Demand> DemandsOf(const SnapshotIndex& index, const std::vector<Claim>& claims,
                              TimePoint now) {
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    demands.push_back(DemandOf(index, claims, i, now));
  }
  const auto key = [&](const Demand& demand) {
    const Claim& claim = claims[demand.claim];
    const PlanQueue& queue = index.snapshot().queues[claim.queue];
    const PlanJob& job = index.snapshot().jobs[claim.job];
    return std::tuple(queue.share <= 0, -std::int64_t{queue.priority}, -std::int64_t{job.priority},
                      job.submitted, job.id, demand.claim);
  };
  std::sort(demands.begin(), demands.end(),
            [&](const Demand& a, const Demand& b) { return key(a) < key(b); });
  return demands;
}

}  // namespace tidemill
