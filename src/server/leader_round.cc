// SPDX-License-Identifier: Apache-2.0
#include "server/leader_round.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/machine_name.h"
#include "plan/money.h"
#include "server/decided.h"

namespace tidemill {
namespace {

// Money is put down this often, and when a machine's state has changed: each time every machine's
// row is written.
constexpr Duration kPutDownEvery = std::chrono::seconds(5);

// What is carried out of what was decided for one project.
struct Decision {
  Decision(std::string of, Snapshot snapshot_of, TimePoint now)
      : project(std::move(of)), decided(std::move(snapshot_of), now) {
    const auto& all = snapshot().machines;
    for (std::size_t i = 0; i < all.size(); ++i) machines[all[i].id] = i;
  }
  const Snapshot& snapshot() const { return decided.snapshot; }
  const PlanMachine* FindMachine(const std::string& id) const {
    const auto found = machines.find(id);
    return found == machines.end() ? nullptr : &snapshot().machines[found->second];
  }

  const std::string project;
  const Decided decided;
  std::map<std::string, std::size_t> machines;  // by id: where it is in the snapshot
};

class RoundRun {
 public:
  RoundRun(Store& store, PlanStore& plans, const RoundNeeds& needs, TimePoint now)
      : store_(store), plans_(plans), needs_(needs), now_(now) {}

  Result<void> Carry(const Decision& decision);
  Round Take() { return std::move(round_); }

 private:
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
  std::map<std::string, std::vector<std::string>> made_;
  Round round_;
};

MachineKey KeyOf(const Decision& decision, const PlanMachine& machine) {
  return {decision.project, machine.pool, machine.number};
}

Result<void> RoundRun::Order(const Decision& decision) {
  for (const tidemill::Order& order : decision.decided.wanted.orders) {
    const auto pool = decision.decided.index.FindPool(order.pool);
    if (!pool) continue;
    if (!needs_.providers.contains(decision.snapshot().pools[*pool].provider)) continue;
    const Money price = decision.snapshot().pools[*pool].price;
    TIDEMILL_TRY(
        const std::vector<MachineKey> added,
        plans_.OrderMachines(decision.project, order.pool, order.first, order.count, price));
    for (const MachineKey& key : added) {
      made_[order.pool].push_back(MachineName(order.pool, key.number));
    }
    round_.news.ordered += static_cast<std::int64_t>(added.size());
  }
  return {};
}

// Machines that came by themselves are nobody's to end.
Result<void> RoundRun::DrainAndEnd(const Decision& decision) {
  for (const Drain& drain : decision.decided.wanted.drains) {
    const PlanMachine* machine = decision.FindMachine(drain.machine);
    if (machine == nullptr || !machine->ordered) continue;
    TIDEMILL_TRY_VOID(plans_.DrainMachine(KeyOf(decision, *machine)));
    ++round_.news.drained;
  }
  for (const End& end : decision.decided.wanted.ends) {
    const PlanMachine* machine = decision.FindMachine(end.machine);
    if (machine == nullptr || !machine->ordered || machine->ending) continue;
    const MachineKey key = KeyOf(decision, *machine);
    TIDEMILL_TRY(const bool may_end, plans_.EndMachine(key, end.seen));
    if (!may_end) continue;
    ++round_.news.ended;
  }
  return {};
}

Result<void> RoundRun::PutDown(const Decision& decision) {
  std::vector<PutDownMachine> put_down;
  const auto& machines = decision.snapshot().machines;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const PlanMachine& machine = machines[i];
    if (machine.billed_from == TimePoint{}) continue;  // not made yet
    const bool gone = machine.state == MachineState::kGone;
    // When it ended, its provider says later, and nothing that was put down is taken back.
    if (machine.ending && !gone) continue;
    // One that is missing most likely ended then; if it comes again, the rest is put down as well.
    const TimePoint there = machine.missing_since.value_or(now_);
    const TimePoint until = std::max(gone ? machine.since : there, machine.put_down_until);
    if (!gone && until == machine.put_down_until) continue;
    const bool changed = gone || machine.since > machine.put_down_until;
    if (!changed && now_ - machine.put_down_until < kPutDownEvery) continue;
    // Right after its end a machine is billed the least that one costs.
    const TimePoint billed = gone ? until + Duration(1) : until;
    put_down.push_back(
        {KeyOf(decision, machine), machine.put_down_until, until,
         tidemill::PutDown(decision.decided.index, i, machine.put_down_until, billed)});
  }
  if (put_down.empty()) return {};
  TIDEMILL_TRY_VOID(plans_.PutDown(put_down));
  return SetLost(decision);
}

// Of what a job has cost, the part of its time of which nothing came.
Result<void> RoundRun::SetLost(const Decision& decision) {
  std::vector<JobId> jobs;
  for (const PlanJob& job : decision.snapshot().jobs) {
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
    const PlanJob& job = decision.snapshot().jobs[*decision.decided.index.FindJob(one.job)];
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
  for (const PlanJob& job : decision.snapshot().jobs) {
    for (const JobId other : job.after) {
      if (decision.decided.index.FindJob(other)) continue;
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
  for (const PlanPool& pool : decision.snapshot().pools) {
    if (pool.provider.empty()) continue;
    PoolWork work;
    work.word = pool.provider_word;
    work.now = now_;
    work.pool.pool.project = decision.project;
    work.pool.pool.name = pool.name;
    work.pool.machines = pool;
    bool alive = false;
    for (const PlanMachine& machine : decision.snapshot().machines) {
      if (machine.pool != pool.name || !machine.ordered) continue;
      if (machine.state == MachineState::kGone) continue;
      alive = true;
      if (machine.ending) {
        // As of an earlier round: since then it gets no leases. One that it got just before is
        // waited for.
        if (machine.leases.empty()) work.end.push_back(machine.name);
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
  if (!decision.snapshot().jobs.empty()) round_.idle = false;
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

// Of the jobs that have a lease now: since then, or since a round before.
void SetRunsSince(Snapshot& snapshot, const std::map<JobId, TimePoint>& before, TimePoint now,
                  std::map<JobId, TimePoint>& runs_since) {
  for (PlanJob& job : snapshot.jobs) {
    if (job.leased == 0) continue;
    const auto found = before.find(job.id);
    job.runs_since = found == before.end() ? now : found->second;
    runs_since[job.id] = job.runs_since;
  }
}

}  // namespace

Result<Round> RunRound(Store& store, PlanStore& plans, const RoundNeeds& needs) {
  TIDEMILL_TRY_VOID(plans.SeeMachines(needs.look));
  TIDEMILL_TRY(Snapshots snapshots, plans.ReadSnapshots());
  std::deque<Decision> decisions;  // none of them can be moved
  std::map<std::string, Plan> written;
  std::map<JobId, TimePoint> runs_since;
  for (ProjectSnapshot& one : snapshots.projects) {
    SetRunsSince(one.snapshot, needs.runs_since, snapshots.now, runs_since);
    const Decision& decision =
        decisions.emplace_back(one.project, std::move(one.snapshot), snapshots.now);
    written[decision.project] = decision.decided.plan;
  }
  TIDEMILL_TRY_VOID(plans.WritePlans(needs.epoch, written));
  RoundRun run(store, plans, needs, snapshots.now);
  for (const Decision& decision : decisions) TIDEMILL_TRY_VOID(run.Carry(decision));
  Round round = run.Take();
  round.runs_since = std::move(runs_since);
  return round;
}

}  // namespace tidemill
