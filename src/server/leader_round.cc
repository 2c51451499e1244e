// SPDX-License-Identifier: Apache-2.0
#include "server/leader_round.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plan/autoscale.h"
#include "plan/index.h"
#include "plan/money.h"
#include "plan/schedule.h"

namespace tidemill {
namespace {

// Money is put down this often, and when a machine's state has changed: each time every machine's
// row is written.
constexpr Duration kPutDownEvery = std::chrono::seconds(5);

struct Decision {
  const ProjectSnapshot& of;
  SnapshotIndex index;
  Plan plan;
  Wanted wanted;
};

class RoundRun {
 public:
  RoundRun(Store& store, PlanStore& plans, const RoundNeeds& needs, TimePoint now)
      : store_(store), plans_(plans), needs_(needs), now_(now) {}

  Result<void> Carry(const Decision& decision);
  Round Take() { return std::move(round_); }

 private:
  const PlanMachine* FindMachine(const Decision& decision, const std::string& id) const;
  Result<void> Order(const Decision& decision);
  Result<void> DrainAndEnd(const Decision& decision);
  Result<void> PutDown(const Decision& decision);
  Result<void> SetLost(const Decision& decision);
  Result<void> LookAfter(const Decision& decision);
  void CollectWork(const Decision& decision);

  Store& store_;
  PlanStore& plans_;
  const RoundNeeds& needs_;
  const TimePoint now_;
  std::set<MachineKey> ending_;  // by this round
  std::map<std::string, std::vector<std::string>> made_;
  Round round_;
};

const PlanMachine* RoundRun::FindMachine(const Decision& decision, const std::string& id) const {
  for (const PlanMachine& machine : decision.of.snapshot.machines) {
    if (machine.id == id) return &machine;
  }
  return nullptr;
}

MachineKey KeyOf(const Decision& decision, const PlanMachine& machine) {
  return {decision.of.project, machine.pool, machine.number};
}

Result<void> RoundRun::Order(const Decision& decision) {
  for (const tidemill::Order& order : decision.wanted.orders) {
    const auto pool = decision.index.FindPool(order.pool);
    if (!pool) continue;
    if (!needs_.providers.contains(decision.of.snapshot.pools[*pool].provider)) continue;
    const Money price = decision.of.snapshot.pools[*pool].price;
    TIDEMILL_TRY(
        const std::vector<MachineKey> added,
        plans_.OrderMachines(decision.of.project, order.pool, order.first, order.count, price));
    for (const MachineKey& key : added) {
      made_[order.pool].push_back(order.pool + "-" + std::to_string(key.number));
    }
    round_.news.ordered += static_cast<std::int64_t>(added.size());
  }
  return {};
}

// Machines that came by themselves are nobody's to end.
Result<void> RoundRun::DrainAndEnd(const Decision& decision) {
  for (const Drain& drain : decision.wanted.drains) {
    const PlanMachine* machine = FindMachine(decision, drain.machine);
    if (machine == nullptr || !machine->ordered) continue;
    TIDEMILL_TRY_VOID(plans_.DrainMachine(KeyOf(decision, *machine)));
    ++round_.news.drained;
  }
  for (const End& end : decision.wanted.ends) {
    const PlanMachine* machine = FindMachine(decision, end.machine);
    if (machine == nullptr || !machine->ordered || machine->ending) continue;
    const MachineKey key = KeyOf(decision, *machine);
    TIDEMILL_TRY(const bool may_end, plans_.EndMachine(key, end.seen));
    if (!may_end) continue;
    ending_.insert(key);
    ++round_.news.ended;
  }
  return {};
}

Result<void> RoundRun::PutDown(const Decision& decision) {
  std::vector<PutDownMachine> put_down;
  const auto& machines = decision.of.snapshot.machines;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const PlanMachine& machine = machines[i];
    if (machine.billed_from == TimePoint{}) continue;  // not made yet
    const bool gone = machine.state == MachineState::kGone;
    // When it ended, its provider says later, and nothing that was put down is taken back.
    if (machine.ending && !gone) continue;
    const TimePoint until = gone ? std::max(machine.since, machine.put_down_until) : now_;
    const bool changed = gone || machine.since > machine.put_down_until;
    if (!changed && now_ - machine.put_down_until < kPutDownEvery) continue;
    // Right after its end a machine is billed the least that one costs.
    const TimePoint billed = gone ? until + Duration(1) : until;
    put_down.push_back({KeyOf(decision, machine), machine.put_down_until, until,
                        tidemill::PutDown(decision.index, i, machine.put_down_until, billed)});
  }
  if (put_down.empty()) return {};
  TIDEMILL_TRY_VOID(plans_.PutDown(put_down));
  return SetLost(decision);
}

// Of what a job has cost, the part of its time of which nothing came.
Result<void> RoundRun::SetLost(const Decision& decision) {
  std::vector<JobId> jobs;
  for (const PlanJob& job : decision.of.snapshot.jobs) {
    if (job.lost > Duration(0)) jobs.push_back(job.id);
  }
  if (jobs.empty()) return {};
  TIDEMILL_TRY(const std::vector<JobMoney> money, plans_.ReadMoney(jobs));
  for (const JobMoney& one : money) {
    Entry all;
    for (const Entry& entry : one.entries) {
      all.time += entry.time;
      all.amount += entry.amount;
    }
    const PlanJob& job = decision.of.snapshot.jobs[*decision.index.FindJob(one.job)];
    const std::vector<Entry> moved =
        tidemill::MoveLost(one.job, {.all = job.worked, .lost = job.lost}, all);
    if (moved.empty()) continue;
    TIDEMILL_TRY_VOID(plans_.SetLost(one.job, moved.back().time, moved.back().amount));
  }
  return {};
}

// A job may begin when those that it comes after are over. If they did not all succeed, somebody
// should look before it does.
Result<void> RoundRun::LookAfter(const Decision& decision) {
  for (const PlanJob& job : decision.of.snapshot.jobs) {
    for (const JobId other : job.after) {
      if (decision.index.FindJob(other)) continue;
      const Result<JobCounts> found = store_.CountItems(other);
      if (!found && found.error().code != Code::kNotFound) return tl::unexpected(found.error());
      std::string reason;
      if (!found) {
        reason = "job " + std::to_string(other.number) + ", which it comes after, is not there";
      } else if (found->job.state == JobState::kCancelled) {
        reason = PublicId(found->job) + ", which it comes after, was cancelled";
      } else if (found->job.state != JobState::kFinished) {
        continue;
      } else if (found->counts.failed > 0) {
        reason = PublicId(found->job) + ", which it comes after, ended with " +
                 std::to_string(found->counts.failed) + " failed items";
      }
      TIDEMILL_TRY_VOID(plans_.EndAfter(job.id, other, reason));
    }
  }
  return {};
}

void RoundRun::CollectWork(const Decision& decision) {
  for (const PlanPool& pool : decision.of.snapshot.pools) {
    if (pool.provider.empty()) continue;
    PoolWork work;
    work.word = pool.provider_word;
    work.now = now_;
    work.pool.pool.project = decision.of.project;
    work.pool.pool.name = pool.name;
    work.pool.machines = pool;
    bool alive = false;
    for (const PlanMachine& machine : decision.of.snapshot.machines) {
      if (machine.pool != pool.name || !machine.ordered) continue;
      if (machine.state == MachineState::kGone) continue;
      alive = true;
      const bool ending = machine.ending || ending_.contains(KeyOf(decision, machine));
      if (ending) {
        work.end.push_back(machine.name);
      } else if (machine.state == MachineState::kOrdered) {
        work.make.push_back(machine.name);
      }
    }
    if (const auto made = made_.find(pool.name); made != made_.end()) {
      work.make.insert(work.make.end(), made->second.begin(), made->second.end());
      alive = true;
    }
    if (alive || pool.min > 0) round_.idle = false;
    round_.pools.push_back(std::move(work));
  }
  if (!decision.of.snapshot.jobs.empty()) round_.idle = false;
}

Result<void> RoundRun::Carry(const Decision& decision) {
  made_.clear();
  TIDEMILL_TRY_VOID(Order(decision));
  TIDEMILL_TRY_VOID(DrainAndEnd(decision));
  TIDEMILL_TRY_VOID(PutDown(decision));
  TIDEMILL_TRY_VOID(LookAfter(decision));
  CollectWork(decision);
  return {};
}

}  // namespace

Result<Round> RunRound(Store& store, PlanStore& plans, const RoundNeeds& needs) {
  TIDEMILL_TRY_VOID(plans.SeeMachines(needs.seen));
  TIDEMILL_TRY(const Snapshots snapshots, plans.ReadSnapshots());
  std::vector<Decision> decisions;
  std::map<std::string, Plan> written;
  for (const ProjectSnapshot& project : snapshots.projects) {
    Decision& decision =
        decisions.emplace_back(Decision{project, SnapshotIndex(project.snapshot), {}, {}});
    decision.plan = MakePlan(decision.index, snapshots.now);
    decision.wanted = Autoscale(decision.index, snapshots.now);
    written[project.project] = decision.plan;
  }
  TIDEMILL_TRY_VOID(plans.WritePlans(needs.epoch, written));
  RoundRun run(store, plans, needs, snapshots.now);
  for (const Decision& decision : decisions) TIDEMILL_TRY_VOID(run.Carry(decision));
  return run.Take();
}

}  // namespace tidemill
