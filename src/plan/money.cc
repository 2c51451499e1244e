// SPDX-License-Identifier: Apache-2.0
#include "plan/money.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "plan/claims.h"

namespace tidemill {
namespace {

// The last moment that is billed, or `at`.
TimePoint BilledTo(const PlanMachine& machine, TimePoint at) {
  const bool gone = machine.state == MachineState::kGone;
  return std::max(gone ? std::min(at, machine.since) : at, machine.billed_from);
}

// What each lease has of the machine.
std::vector<std::int64_t> WeightsOf(const SnapshotIndex& index, const PlanMachine& machine) {
  std::vector<std::int64_t> weights;
  for (const MachineLease& lease : machine.leases) {
    const auto job = index.FindJob(lease.job);
    const std::int64_t each = job ? MachinePpm(machine.has, index.snapshot().jobs[*job].need) : 1;
    weights.push_back(lease.slots * std::max<std::int64_t>(each, 1));
  }
  return weights;
}

void AddJobs(const SnapshotIndex& index, const PlanMachine& machine, Duration time, Money amount,
             std::vector<Entry>& entries) {
  if (machine.leases.empty()) {
    entries.push_back({Account::kIdle, {}, time, amount});
    return;
  }
  const std::vector<std::int64_t> weights = WeightsOf(index, machine);
  const std::vector<std::int64_t> times = SplitExactly(time.count(), weights);
  const std::vector<std::int64_t> amounts = SplitExactly(amount.micros, weights);
  for (std::size_t i = 0; i < machine.leases.size(); ++i) {
    entries.push_back({Account::kJob, machine.leases[i].job, Duration(times[i]), {amounts[i]}});
  }
}

}  // namespace

Money BillUntil(const PlanMachine& machine, TimePoint at, Duration at_least) {
  const Duration time = BilledTo(machine, at) - machine.billed_from;
  if (time <= Duration(0)) return {};
  const bool over = machine.state == MachineState::kGone && at > machine.since;
  return CostOf(machine.price, over ? std::max(time, at_least) : time);
}

std::vector<Entry> PutDown(const SnapshotIndex& index, std::size_t number, TimePoint from,
                           TimePoint to) {
  const PlanMachine& machine = index.snapshot().machines[number];
  const auto pool = index.PoolOf(number);
  const Duration at_least =
      pool ? index.snapshot().pools[*pool].billed_at_least : kDefaultBilledAtLeast;
  const Money billed = BillUntil(machine, from, at_least);
  const Money bill = BillUntil(machine, to, at_least) - billed;
  from = BilledTo(machine, from);
  to = std::max(BilledTo(machine, to), from);
  std::vector<Entry> entries;
  if (from == to && bill == Money{}) return entries;
  if (!machine.joined || *machine.joined > to) {
    entries.push_back({Account::kBoot, {}, to - from, bill});
    return entries;
  }
  const TimePoint joined = std::max(*machine.joined, from);
  const Money before = joined > from ? BillUntil(machine, joined, at_least) - billed : Money{};
  if (joined > from) entries.push_back({Account::kBoot, {}, joined - from, before});
  if (to > joined || bill != before) AddJobs(index, machine, to - joined, bill - before, entries);
  return entries;
}

std::vector<Entry> MoveLost(JobId job, const Worked& worked, const Entry& put_down) {
  const std::int64_t all = worked.all.count();
  const std::int64_t lost = std::min(worked.lost.count(), all);
  if (lost <= 0) return {};
  const Duration time(MulDiv(put_down.time.count(), lost, all));
  const Money amount{MulDiv(put_down.amount.micros, lost, all)};
  return {{Account::kJob, job, -time, Money{} - amount}, {Account::kLost, job, time, amount}};
}

std::vector<std::int64_t> SplitExactly(std::int64_t total,
                                       const std::vector<std::int64_t>& weights) {
  TIDEMILL_CHECK(!weights.empty());
  __extension__ using Wide = __int128;
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  std::vector<std::int64_t> parts(weights.size());
  if (sum == 0) {
    parts.front() = total;
    return parts;
  }
  std::vector<std::pair<std::int64_t, std::size_t>> rest;  // negative: the largest sorts first
  std::int64_t left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide product = static_cast<Wide>(total) * weights[i];
    parts[i] = static_cast<std::int64_t>(product / sum);
    rest.emplace_back(-static_cast<std::int64_t>(product % sum), i);
    left -= parts[i];
  }
  std::sort(rest.begin(), rest.end());
  for (std::size_t i = 0; left > 0; ++i, --left) ++parts[rest[i].second];
  return parts;
}

}  // namespace tidemill
