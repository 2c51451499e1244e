// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plan/caps.h"
#include "plan/claims.h"
#include "plan/free_room.h"
#include "plan/pool_room.h"
#include "plan/turns.h"

namespace tidemill {
namespace {

// What a plan is made of while it is made. `by_pool` of a claim goes with the claim's pools.
class Planner {
 public:
  Planner(const SnapshotIndex& index, TimePoint now)
      : index_(index), now_(now), claims_(ClaimsOf(index)), caps_(index) {}

  Plan Make() {
    ShareOut();
    KeepReservations();
    UseWhatIsFree();
    ReserveForBlocked();
    return {Rows(), reserved_};
  }

 private:
  struct Row {
    std::int64_t target = 0;   // its share
    std::int64_t running = 0;  // a job with two claims: of both, in the first of them
    std::int64_t now = 0;      // can be started at once
    std::int64_t later = 0;    // when items end
    std::int64_t extra = 0;    // beyond its share
  };

  // The shares of all machines, as if nothing ran on them yet.
  void ShareOut();
  void KeepReservations();
  // What of the shares can begin now, then whatever else can, then what must wait for room.
  void UseWhatIsFree();
  void StartShares(FreeRoom& free);
  void StartOthers(FreeRoom& free);
  void ReserveForBlocked();
  void MeasureLeased();
  bool IsLarge(const Claim& claim) const;
  std::optional<std::size_t> MachineFor(const Claim& claim) const;
  std::vector<PlanRow> Rows() const;

  bool IsBlocked(std::size_t claim) const;
  // Claims by how little of their share runs.
  std::vector<std::size_t> ByNeed() const;

  const SnapshotIndex& index_;
  const TimePoint now_;
  const std::vector<Claim> claims_;
  std::vector<std::vector<Row>> rows_;
  std::optional<Turns> turns_;
  Caps caps_;
  std::vector<Reservation> reserved_;
  std::map<std::size_t, std::size_t> kept_;  // machine -> claim
  std::int64_t joined_ = 0;
  std::vector<double> leased_;                                     // the part of each machine
  std::vector<std::set<Resources, ResourcesLess>> running_needs_;  // in each pool
};

void Planner::ShareOut() {
  PoolRoom room(index_.snapshot().pools.size());
  const JoinedMachines joined = AddJoined(index_, room);
  joined_ = joined.machines;
  turns_.emplace(index_, claims_, joined.total, now_);
  Caps targets(index_);
  turns_->ServeImpatient(room, targets, now_);
  std::vector<std::int64_t> most;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    most.push_back(claims_[i].running + claims_[i].waiting);
    for (const std::int64_t given : turns_->Given(i)) most.back() -= given;
  }
  turns_->Run(room, targets, std::move(most));
}

void Planner::KeepReservations() {
  std::map<std::size_t, std::size_t> waiting;  // job -> claim
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    if (claims_[i].waiting > 0) waiting.emplace(claims_[i].job, i);
  }
  for (std::size_t i = 0; i < index_.snapshot().machines.size(); ++i) {
    const PlanMachine& machine = index_.snapshot().machines[i];
    if (!machine.reserved_for || machine.state != MachineState::kJoined) continue;
    const auto job = index_.FindJob(*machine.reserved_for);
    const auto claim = job ? waiting.find(*job) : waiting.end();
    if (claim == waiting.end() || !index_.PoolOf(i)) continue;
    const auto& pools = claims_[claim->second].pools;
    if (std::find(pools.begin(), pools.end(), *index_.PoolOf(i)) == pools.end()) continue;
    const bool began = std::any_of(machine.leases.begin(), machine.leases.end(),
                                   [&](auto& lease) { return lease.job == *machine.reserved_for; });
    if (!began) kept_.emplace(i, claim->second);
  }
}

void Planner::UseWhatIsFree() {
  rows_.resize(claims_.size());
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> running;  // not yet in a row
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    rows_[i].resize(claims_[i].pools.size());
    std::int64_t of_claim = claims_[i].running;
    for (std::size_t p = 0; p < claims_[i].pools.size(); ++p) {
      rows_[i][p].target = turns_->Given(i)[p];
      const auto& by_pool = index_.Running(claims_[i].job);
      const auto found = by_pool.find(claims_[i].pools[p]);
      if (found == by_pool.end()) continue;
      const auto left =
          running.emplace(std::pair(claims_[i].job, claims_[i].pools[p]), found->second).first;
      // The worn claim of a job comes first and takes as much as it has there.
      const std::int64_t take = claims_[i].worn ? std::min(left->second, of_claim) : left->second;
      rows_[i][p].running = take;
      left->second -= take;
      of_claim -= take;
    }
  }
  caps_.AddRunning(index_);
  FreeRoom free(index_, claims_, kept_);
  StartShares(free);
  StartOthers(free);
  for (const std::size_t i : ByNeed()) {
    std::int64_t waiting = claims_[i].waiting;
    for (const Row& row : rows_[i]) waiting -= row.now + row.extra;
    for (std::size_t p = 0; p < rows_[i].size(); ++p) {
      Row& row = rows_[i][p];
      const std::int64_t missing = std::min(row.target - row.running - row.now, waiting);
      if (missing <= 0) continue;
      row.later = caps_.Allow(claims_[i], p, missing);
      waiting -= row.later;
      caps_.Add(claims_[i].job, claims_[i].queue, claims_[i].costs[p], row.later);
    }
  }
}

void Planner::StartShares(FreeRoom& free) {
  for (const std::size_t i : ByNeed()) {
    const Claim& claim = claims_[i];
    std::int64_t waiting = claim.waiting;
    for (std::size_t p = 0; p < rows_[i].size(); ++p) {
      Row& row = rows_[i][p];
      const std::int64_t missing = std::min(row.target - row.running, waiting);
      if (missing <= 0) continue;
      const std::int64_t allowed = caps_.Allow(claim, p, missing);
      row.now = free.Place(i, claim.pools[p], allowed);
      waiting -= row.now;
      caps_.Add(claim.job, claim.queue, claim.costs[p], row.now);
    }
  }
}

void Planner::StartOthers(FreeRoom& free) {
  std::vector<std::int64_t> most;
  std::vector<std::vector<std::int64_t>> before;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    most.push_back(claims_[i].waiting);
    for (const Row& row : rows_[i]) most.back() -= row.now;
    before.push_back(turns_->Given(i));
  }
  turns_->Run(free.room(), caps_, std::move(most));
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    for (std::size_t p = 0; p < rows_[i].size(); ++p) {
      rows_[i][p].extra = turns_->Given(i)[p] - before[i][p];
    }
  }
}

bool Planner::IsBlocked(std::size_t claim) const {
  bool wants = false;
  for (const Row& row : rows_[claim]) {
    if (row.now > 0 || row.extra > 0) return false;
    wants = wants || row.later > 0;
  }
  return wants && claims_[claim].waiting > 0;
}

void Planner::ReserveForBlocked() {
  const std::int64_t most = std::min(kReservationsMax, std::max<std::int64_t>(joined_ / 8, 1));
  std::vector<std::size_t> blocked;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    if (IsBlocked(i)) blocked.push_back(i);
  }
  const auto key = [this](std::size_t claim) {
    const PlanJob& job = index_.snapshot().jobs[claims_[claim].job];
    return std::pair(job.served, job.id);
  };
  std::sort(blocked.begin(), blocked.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (auto it = kept_.begin(); it != kept_.end();) {
    it = std::find(blocked.begin(), blocked.end(), it->second) == blocked.end() ? kept_.erase(it)
                                                                                : std::next(it);
  }
  if (!blocked.empty()) MeasureLeased();
  for (const std::size_t claim : blocked) {
    if (static_cast<std::int64_t>(kept_.size()) >= most) break;
    const bool has = std::any_of(kept_.begin(), kept_.end(),
                                 [claim](const auto& kept) { return kept.second == claim; });
    if (has || !IsLarge(claims_[claim])) continue;
    if (const auto machine = MachineFor(claims_[claim])) kept_.emplace(*machine, claim);
  }
  for (const auto& [machine, claim] : kept_) {
    reserved_.push_back(
        {index_.snapshot().machines[machine].id, index_.snapshot().jobs[claims_[claim].job].id});
  }
}

void Planner::MeasureLeased() {
  running_needs_.resize(index_.snapshot().pools.size());
  for (std::size_t job = 0; job < index_.snapshot().jobs.size(); ++job) {
    for (const auto& [pool, slots] : index_.Running(job)) {
      running_needs_[pool].insert(index_.snapshot().jobs[job].need);
    }
  }
  const auto part = [](std::int64_t free, std::int64_t has) {
    return has > 0 ? 1 - static_cast<double>(free) / static_cast<double>(has) : 0.0;
  };
  for (const PlanMachine& machine : index_.snapshot().machines) {
    const Resources free = FreeOf(index_, machine).free;
    leased_.push_back(std::max(part(free.millicpus, machine.has.millicpus),
                               part(free.memory_bytes, machine.has.memory_bytes)));
  }
}

// Whether an item can end where it waits and leave too little for it. Others need no machine of
// their own: they get the room of the next one that ends.
bool Planner::IsLarge(const Claim& claim) const {
  const Resources& need = index_.snapshot().jobs[claim.job].need;
  return std::any_of(claim.pools.begin(), claim.pools.end(), [&](std::size_t pool) {
    const auto& others = running_needs_[pool];
    return std::any_of(others.begin(), others.end(), [&](const Resources& other) {
      return !WantsWholeMachine(other) && SlotsIn(other, need) == 0;
    });
  });
}

// The one of those that are large enough on which least is leased. As nothing is added to it, it
// empties; and the next plan keeps it.
std::optional<std::size_t> Planner::MachineFor(const Claim& claim) const {
  const Resources& need = index_.snapshot().jobs[claim.job].need;
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t i = 0; i < index_.snapshot().machines.size(); ++i) {
    const PlanMachine& machine = index_.snapshot().machines[i];
    const auto pool = index_.PoolOf(i);
    if (machine.state != MachineState::kJoined || !pool || kept_.contains(i)) continue;
    if (best && leased_[i] >= least) continue;
    if (std::find(claim.pools.begin(), claim.pools.end(), *pool) == claim.pools.end()) continue;
    Resources has = machine.has;
    has.devices[kWholeMachine] = 1;
    if (SlotsIn(has, need) > 0) std::tie(best, least) = std::pair(i, leased_[i]);
  }
  return best;
}

std::vector<std::size_t> Planner::ByNeed() const {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    std::int64_t target = 0;
    for (const Row& row : rows_[i]) target += row.target;
    if (target == 0) continue;
    order.emplace_back(static_cast<double>(claims_[i].running) / static_cast<double>(target), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> claims;
  for (const auto& [part, claim] : order) claims.push_back(claim);
  return claims;
}

std::vector<PlanRow> Planner::Rows() const {
  struct Sum {
    std::int64_t shares = 0;  // what runs inside of them
    std::int64_t running = 0;
    std::int64_t now = 0;
    std::int64_t later = 0;
    std::int64_t worn = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, Sum> sums;  // by job and pool
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    for (std::size_t p = 0; p < rows_[i].size(); ++p) {
      const Row& row = rows_[i][p];
      Sum& sum = sums[{claims_[i].job, claims_[i].pools[p]}];
      sum.shares += std::min(row.target, row.running);
      sum.running += row.running;
      sum.now += row.now + row.extra;
      sum.later += row.later;
      if (!claims_[i].worn) continue;
      sum.worn += std::min(row.target, row.running) + row.now + row.later + row.extra;
    }
  }
  std::vector<PlanRow> rows;
  for (const auto& [key, sum] : sums) {
    // What can begin now must be seen to fit, also where the job runs more than its share.
    const std::int64_t slots = (sum.now > 0 ? sum.running + sum.now : sum.shares) + sum.later;
    if (slots <= 0) continue;
    rows.push_back({index_.snapshot().jobs[key.first].id, index_.snapshot().pools[key.second].name,
                    slots, std::min(sum.worn, slots)});
  }
  return rows;
}

}  // namespace

Plan MakePlan(const SnapshotIndex& index, TimePoint now) { return Planner(index, now).Make(); }

}  // namespace tidemill
