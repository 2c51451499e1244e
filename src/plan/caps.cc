// SPDX-License-Identifier: Apache-2.0
#include "plan/caps.h"

#include <algorithm>

#include "base/planted.h"

namespace tidemill {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr Limit kLimits[] = {Limit::kBudget, Limit::kMaxParallel, Limit::kRunning, Limit::kMachines,
                             Limit::kCost};

// How many of `slots`, each of which takes `each`, fit below `limit` if `used` is taken.
std::int64_t Fit(std::int64_t limit, std::int64_t used, std::int64_t each, std::int64_t slots) {
  if (used >= limit) return 0;  // also what costs nothing does not begin when all is spent
  return each <= 0 ? slots : std::min(slots, (limit - used) / each);
}

}  // namespace

Caps::Caps(const SnapshotIndex& index)
    : snapshot_(index.snapshot()),
      queues_(index.snapshot().queues.size()),
      jobs_(index.snapshot().jobs.size()) {}

void Caps::AddRunning(const SnapshotIndex& index) {
  for (std::size_t job = 0; job < snapshot_.jobs.size(); ++job) {
    if (index.Running(job).empty()) continue;
    const auto queue = index.FindQueue(snapshot_.jobs[job].queue);
    if (!queue) continue;
    for (const auto& [pool, slots] : index.Running(job)) {
      Add(job, *queue, SlotCostOf(index, job, pool), slots);
    }
  }
}

std::int64_t Caps::Below(Limit limit, const Claim& claim, std::size_t nth_pool,
                         std::int64_t slots) const {
  const PlanJob& job = snapshot_.jobs[claim.job];
  const QueueLimits& limits = snapshot_.queues[claim.queue].limits;
  const QueueUse& queue_use = queues_[claim.queue];
  const JobUse& job_use = jobs_[claim.job];
  const SlotCost& cost = claim.costs[nth_pool];
  switch (limit) {
    case Limit::kNone:
      return slots;
    case Limit::kMaxParallel:
      return job.max_parallel ? Fit(*job.max_parallel, job_use.slots, 1, slots) : slots;
    case Limit::kBudget:
      if (Planted(Plant::kBudgetAfter)) return !job.budget || job.spent < *job.budget ? slots : 0;
      return job.budget ? Fit((*job.budget - job.spent).micros, job_use.committed,
                              cost.committed.micros, slots)
                        : slots;
    case Limit::kRunning:
      return limits.running ? Fit(*limits.running, queue_use.slots, 1, slots) : slots;
    case Limit::kMachines:
      return limits.machines
                 ? Fit(*limits.machines * kMillion, queue_use.machine_ppm, cost.machine_ppm, slots)
                 : slots;
    case Limit::kCost:
      return limits.cost_an_hour ? Fit(limits.cost_an_hour->micros, queue_use.cost_an_hour,
                                       cost.an_hour.micros, slots)
                                 : slots;
  }
  return slots;
}

std::int64_t Caps::Allow(const Claim& claim, std::size_t nth_pool, std::int64_t slots) const {
  for (const Limit limit : kLimits) slots = Below(limit, claim, nth_pool, slots);
  return slots;
}

Limit Caps::Reached(const Claim& claim, std::size_t nth_pool) const {
  for (const Limit limit : kLimits) {
    if (Below(limit, claim, nth_pool, 1) == 0) return limit;
  }
  return Limit::kNone;
}

void Caps::Add(std::size_t job, std::size_t queue, const SlotCost& cost, std::int64_t slots) {
  queues_[queue].machine_ppm += slots * cost.machine_ppm;
  queues_[queue].cost_an_hour += slots * cost.an_hour.micros;
  queues_[queue].slots += slots;
  jobs_[job].slots += slots;
  jobs_[job].committed += slots * cost.committed.micros;
}

}  // namespace tidemill
