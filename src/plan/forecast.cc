// SPDX-License-Identifier: Apache-2.0
#include "plan/forecast.h"

#include <algorithm>
#include <cmath>

#include "plan/claims.h"

namespace tidemill {
namespace {

// Slots that a job has or will have, and what they cost an hour together.
struct Supply {
  std::int64_t slots = 0;
  double micros_an_hour = 0;

  void Add(std::int64_t more, const SlotCost& cost) {
    slots += more;
    micros_an_hour += static_cast<double>(more) * static_cast<double>(cost.an_hour.micros);
  }
};

Supply SupplyOf(const SnapshotIndex& index, const Plan& plan, const Wanted& wanted,
                std::size_t number, std::int64_t most) {
  const PlanJob& job = index.snapshot().jobs[number];
  Supply supply;
  for (const PlanRow& row : plan.rows) {
    if (row.job != job.id) continue;
    supply.Add(std::min(row.slots, most - supply.slots),
               SlotCostOf(index, number, *index.FindPool(row.pool)));
  }
  std::vector<std::int64_t> to_come(index.snapshot().pools.size());
  for (std::size_t i = 0; i < wanted.pools.size(); ++i) to_come[i] = wanted.pools[i].ordered;
  for (std::size_t i = 0; i < index.snapshot().machines.size(); ++i) {
    if (index.snapshot().machines[i].state > MachineState::kBooting || !index.PoolOf(i)) continue;
    ++to_come[*index.PoolOf(i)];
  }
  for (const Claim& claim : ClaimsOf(index)) {
    if (claim.job != number || claim.worn) continue;
    for (std::size_t p = 0; p < claim.pools.size(); ++p) {
      const std::size_t pool = claim.pools[p];
      if (to_come[pool] == 0) continue;
      const std::int64_t slots = to_come[pool] * SlotsIn(*index.Shape(pool), job.need);
      supply.Add(std::clamp<std::int64_t>(slots, 0, most - supply.slots), claim.costs[p]);
    }
  }
  return supply;
}

}  // namespace

std::optional<Forecast> ForecastOf(const SnapshotIndex& index, const Plan& plan,
                                   const Wanted& wanted, std::size_t number) {
  const PlanJob& job = index.snapshot().jobs[number];
  const std::int64_t items = job.waiting + job.resting + job.leased;
  if (!job.times || job.times->count <= 0 || items <= 0) return std::nullopt;
  const std::int64_t side_by_side = std::min(items, job.max_parallel.value_or(items));
  const Supply supply = SupplyOf(index, plan, wanted, number, side_by_side);
  if (supply.slots <= 0) return std::nullopt;

  const auto n = static_cast<double>(items);
  const auto slots = static_cast<double>(supply.slots);
  const auto mean = static_cast<double>(job.times->mean.count());
  const auto spread = static_cast<double>(job.times->spread.count());
  const double of_mean = spread / std::sqrt(static_cast<double>(job.times->count));
  const double doubt = 2 * std::hypot(n * of_mean, spread * std::sqrt(n));
  const auto time = [&](double work, double one) {
    return Duration(std::llround(std::max({work / slots, one, 0.0})));
  };
  const auto cost = [&](double work) {
    const double hours = std::max(work, 0.0) / 3.6e9;
    return job.spent + Money{std::llround(hours * supply.micros_an_hour / slots)};
  };
  Forecast forecast;
  forecast.slots = supply.slots;
  forecast.time = time(n * mean, mean);
  forecast.least = time(n * mean - doubt, mean - 2 * of_mean);
  forecast.most = time(n * mean + doubt, mean + 2 * of_mean) + Duration(std::llround(2 * spread));
  forecast.cost = cost(n * mean);
  forecast.cost_least = cost(n * mean - doubt);
  forecast.cost_most = cost(n * mean + doubt);
  return forecast;
}

}  // namespace tidemill
