// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet_checker.h"

#include <algorithm>
#include <chrono>

#include "agent/deps.h"
#include "model/pool.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Until it is put down, a plan is made from it, and machines are gone: by so much of the machines'
// time a budget may be passed.
constexpr Duration kBudgetSlack = seconds(270);
// Rounds whose lists fail or come late.
constexpr Duration kListSlack = seconds(60);
// A leader may have died, and another taken over; then there are rounds, syncs and waits.
constexpr Duration kNotice = minutes(3);

// For so long a provider's lists may not tell what has ended: an hour without any, or a machine
// that is in none, and counts as there until its session is over. While servers crash, none is
// reaped.
Duration Blind(const SimPlan& plan) {
  const CloudFaults& faults = plan.faults.cloud;
  return (faults.outage > 0 ? hours(1) : hours(0)) +
         (faults.forgotten > 0 ? plan.chaos + 2 * plan.limits.session_life : Duration{});
}

// "sim-1: 3 run, 5 wait, 0 rest; ... 7 machines are there"
std::string InShort(const Snapshot& snapshot) {
  std::string text;
  for (const PlanJob& job : snapshot.jobs) {
    text += job.name + ": " + std::to_string(job.leased) + " run, " + std::to_string(job.waiting) +
            " wait, " + std::to_string(job.resting) + " rest; ";
  }
  const auto joined = std::count_if(
      snapshot.machines.begin(), snapshot.machines.end(),
      [](const PlanMachine& machine) { return machine.state == MachineState::kJoined; });
  return text + std::to_string(joined) + " machines have joined";
}

}  // namespace

Snapshot FleetChecker::Read() {
  const Result<Snapshots> read = deps_.store.ReadSnapshots();
  for (const ProjectSnapshot& project : read->projects) {
    if (project.project == kDefaultProject) return project.snapshot;
  }
  return {};
}

void FleetChecker::OnEnd(const PoolSettings& pool, const std::vector<std::string>& names) {
  for (const PlanMachine& machine : Read().machines) {
    if (machine.pool != pool.pool.name || machine.leases.empty()) continue;
    if (std::find(names.begin(), names.end(), machine.name) == names.end()) continue;
    deps_.breach("S22", "a machine is ended that has leases: " + machine.name);
  }
}

void FleetChecker::EverySecond() {
  for (std::size_t i = 0; i < deps_.plan.pools.size(); ++i) {
    PoolSettings pool;
    pool.pool.project = kDefaultProject;
    pool.pool.name = PoolNameOf(i);
    const std::int64_t there = deps_.provider.there(pool);
    if (there <= deps_.plan.pools[i].max) continue;
    deps_.breach("S20", pool.pool.name + " has " + std::to_string(there) + " machines, of " +
                            std::to_string(deps_.plan.pools[i].max) + " that it may have");
  }
}

void FleetChecker::CheckHealthy() {
  const Snapshot snapshot = Read();
  CheckBudgets(snapshot);
  CheckStarved(snapshot);
  CheckIdle(snapshot);
}

void FleetChecker::CheckBudgets(const Snapshot& snapshot) {
  Money slack;
  for (const PlannedPool& pool : deps_.plan.pools) {
    slack.micros += pool.max * CostOf(pool.price, kBudgetSlack).micros;
  }
  for (const PlanJob& job : snapshot.jobs) {
    if (!job.budget || job.spent <= *job.budget + slack) continue;
    deps_.breach("S21", job.name + " has spent " + std::to_string(job.spent.micros) +
                            " millionths of a dollar, of " + std::to_string(job.budget->micros));
  }
}

// While others of no higher priority run, a job with items that wait has some, too.
void FleetChecker::CheckStarved(const Snapshot& snapshot) {
  // Played agents run one lease at a time, whatever they have room for: one job after the other.
  if (deps_.plan.agents > 0) return;
  const TimePoint now = deps_.clock();
  Duration longest{};
  for (const PlannedJob& job : deps_.plan.jobs) {
    longest = std::max<Duration>(longest, std::chrono::milliseconds(job.item_ms));
  }
  for (const PlanJob& job : snapshot.jobs) {
    const bool others_run =
        std::any_of(snapshot.jobs.begin(), snapshot.jobs.end(), [&job](const PlanJob& other) {
          return other.id != job.id && other.leased > 0 && other.priority <= job.priority;
        });
    const bool starves = others_run && job.waiting > 0 && job.leased == 0 && !job.paused &&
                         !job.budget && job.after.empty();
    if (!starves) {
      starved_since_.erase(job.id);
      continue;
    }
    const TimePoint since = starved_since_.try_emplace(job.id, now).first->second;
    if (now - since > 2 * longest + kNotice) {
      deps_.breach("L07", job.name + " starves; " + InShort(snapshot));
    }
  }
}

void FleetChecker::CheckIdle(const Snapshot& snapshot) {
  const TimePoint now = deps_.clock();
  // One whose disk was full takes nothing for so long, though work waits.
  const Duration rest =
      deps_.plan.faults.machine.disk_full > 0 ? AgentLimits().away_rest : Duration{};
  for (const PlanMachine& machine : snapshot.machines) {
    const bool idles = machine.state == MachineState::kJoined && machine.ordered &&
                       machine.leases.empty() && !machine.ending;
    if (!idles) {
      idle_since_.erase(machine.id);
      continue;
    }
    const TimePoint since = idle_since_.try_emplace(machine.id, now).first->second;
    const auto pool = std::find_if(snapshot.pools.begin(), snapshot.pools.end(),
                                   [&](const PlanPool& p) { return p.name == machine.pool; });
    if (pool == snapshot.pools.end() || pool->min > 0) continue;
    const Duration gone = deps_.plan.faults.cloud.forgotten > 0 && machine.session == SessionId{}
                              ? kMissingTime
                              : Duration{};
    if (now - since <= pool->idle + pool->billed_at_least + kNotice + rest + gone) continue;
    deps_.breach("L03", machine.name + " has had nothing to do for " +
                            std::to_string((now - since) / seconds(1)) + " s, and is still there" +
                            (machine.session == SessionId{} ? ", without a session; " : "; ") +
                            InShort(snapshot));
  }
}

void FleetChecker::CheckEnd() {
  std::int64_t least = 0;
  for (const PlannedPool& pool : deps_.plan.pools) least += pool.min;
  if (deps_.provider.there() > least) {
    deps_.breach("L03",
                 std::to_string(deps_.provider.there()) + " machines are left when all is over");
  }
  if (least > 0) return;
  Money bill;
  Money late;
  const Duration lag = deps_.plan.faults.cloud.listing_late + kListSlack + Blind(deps_.plan);
  for (const FakeProvider::Billed& row : deps_.provider.bill()) {
    for (std::size_t i = 0; i < deps_.plan.pools.size(); ++i) {
      if (row.pool != PoolNameOf(i)) continue;
      const Duration there = row.ended - row.since;
      // One that ended before any list had it, and is then forgotten: nobody can know of it.
      const bool unseen = deps_.plan.faults.cloud.forgotten > 0 &&
                          there <= deps_.plan.faults.cloud.listing_late + kListSlack;
      (unseen ? late : bill) +=
          CostOf(deps_.plan.pools[i].price, std::max<Duration>(there, kDefaultBilledAtLeast));
      late += CostOf(deps_.plan.pools[i].price, lag);
    }
  }
  Money accounts;
  const auto overhead = deps_.store.ReadOverhead(std::string(kDefaultProject));
  for (const Entry& entry : *overhead) accounts += entry.amount;
  std::vector<JobId> jobs;
  const auto all = deps_.store.ListJobs({.state = {}, .before = {}, .limit = 1000});
  for (const Job& job : *all) jobs.push_back(job.id);
  const auto money = deps_.store.ReadMoney(jobs);
  for (const JobMoney& job : *money) {
    for (const Entry& entry : job.entries) accounts += entry.amount;
  }
  // A machine that is gone is paid for until the provider's list says so.
  if (bill <= accounts && accounts <= bill + late) return;
  deps_.breach("S28", "the accounts say " + std::to_string(accounts.micros) + ", the bill " +
                          std::to_string(bill.micros));
}

}  // namespace tidemill
