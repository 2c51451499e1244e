// SPDX-License-Identifier: Apache-2.0
#include "plan/demand.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "plan/caps.h"
#include "plan/pool_room.h"

namespace tidemill {
namespace {

Duration TimeFor(const PlanJob& job, const PlanPool& first, TimePoint now) {
  if (!job.deadline) return kTurnaround;
  const Duration left = (*job.deadline - now - kDeadlineBoot) * kDeadlinePercent / 100;
  // What cannot be done in time is done as fast as items allow.
  return std::max({left, job.times->mean, first.billed_at_least, kLeastWork});
}

std::int64_t Payable(const PlanJob& job, const Claim& claim, std::int64_t items) {
  const Money item = CostOf(claim.costs.front().an_hour, job.times->mean);
  if (!job.budget || item.micros <= 0) return items;
  return std::clamp<std::int64_t>((*job.budget - job.spent).micros / item.micros, 0, items);
}

bool MayRun(const Caps& caps, const Claim& claim) {
  for (std::size_t p = 0; p < claim.pools.size(); ++p) {
    if (caps.Reached(claim, p) == Limit::kNone) return true;
  }
  return false;
}

// Turns claims into slots, one after the other.
class Reckoner {
 public:
  Reckoner(const SnapshotIndex& index, TimePoint now) : index_(index), now_(now) {}

  std::int64_t Canary(const Claim& claim) {
    const PlanJob& job = index_.snapshot().jobs[claim.job];
    std::int64_t on_one = 1;
    for (const std::size_t pool : claim.pools) {
      for (const Resources& shape : index_.Shapes(pool)) {
        on_one = std::max(on_one, SlotsIn(shape, job.need));
      }
    }
    std::int64_t& used = canaries_[claim.queue];  // machines
    const std::int64_t machines = std::min(kCanaryMachines, kCanaryTogether - used);
    const std::int64_t slots = std::min(ItemsLeft(claim), machines * on_one);
    used += (slots + on_one - 1) / on_one;
    return slots;
  }

  std::int64_t Work(const Claim& claim) {
    const PlanJob& job = index_.snapshot().jobs[claim.job];
    const std::int64_t items = Payable(job, claim, ItemsLeft(claim));
    const std::int64_t mean = std::max<std::int64_t>(job.times->mean.count(), 1);
    const PlanPool& first = index_.snapshot().pools[claim.pools.front()];
    const std::int64_t exact = MulDivUp(items, mean * 1000, TimeFor(job, first, now_).count());
    Sum& sum = alike_[{claim.queue, claim.pools, job.need}];
    sum.thousandths += std::min(exact, items * 1000);
    const std::int64_t slots = std::min((sum.thousandths + 999) / 1000 - sum.slots, items);
    sum.slots += slots;
    return slots;
  }

 private:
  struct Kind {
    std::size_t queue = 0;
    std::vector<std::size_t> pools;
    Resources need;
    bool operator<(const Kind& other) const {
      if (queue != other.queue) return queue < other.queue;
      if (pools != other.pools) return pools < other.pools;
      return ResourcesLess()(need, other.need);
    }
  };
  struct Sum {
    std::int64_t thousandths = 0;  // of slots that are wanted
    std::int64_t slots = 0;        // that were given
  };

  const SnapshotIndex& index_;
  const TimePoint now_;
  std::map<std::size_t, std::int64_t> canaries_;  // by queue
  std::map<Kind, Sum> alike_;
};

}  // namespace

std::int64_t ItemsLeft(const Claim& claim) {
  return claim.waiting + std::max(claim.leased, claim.running);
}

std::vector<Demand> DemandsOf(const SnapshotIndex& index, const std::vector<Claim>& claims,
                              TimePoint now) {
  std::vector<Demand> demands;
  const Caps caps(index);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!MayRun(caps, claims[i])) continue;
    demands.push_back({i, 0, !index.snapshot().jobs[claims[i].job].times.has_value()});
  }
  const auto key = [&](const Demand& demand) {
    const Claim& claim = claims[demand.claim];
    const Queue& queue = index.snapshot().queues[claim.queue];
    const PlanJob& job = index.snapshot().jobs[claim.job];
    return std::tuple(queue.share <= 0, -std::int64_t{queue.priority}, -std::int64_t{job.priority},
                      job.submitted, job.id, demand.claim);
  };
  std::sort(demands.begin(), demands.end(),
            [&](const Demand& a, const Demand& b) { return key(a) < key(b); });
  Reckoner reckoner(index, now);
  for (Demand& demand : demands) {
    const Claim& claim = claims[demand.claim];
    demand.slots = demand.canary ? reckoner.Canary(claim) : reckoner.Work(claim);
  }
  return demands;
}

}  // namespace tidemill
