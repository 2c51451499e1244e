// SPDX-License-Identifier: Apache-2.0
#include "plan/autoscale.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "plan/caps.h"
#include "plan/claims.h"
#include "plan/demand.h"
#include "plan/free_room.h"
#include "plan/pool_room.h"

namespace tidemill {
namespace {

class Scaler {
 public:
  Scaler(const SnapshotIndex& index, TimePoint now)
      : index_(index),
        now_(now),
        claims_(ClaimsOf(index)),
        room_(index.snapshot().pools.size()),
        caps_(index),
        overdue_(index.snapshot().pools.size()),
        never_joined_(index.snapshot().pools.size()),
        to_come_(index.snapshot().pools.size()),
        reason_(index.snapshot().pools.size(), OrderFor::kMin),
        least_(index.snapshot().pools.size()) {}

  Wanted Make() {
    LookAtMachines();
    LookAtPools();
    std::vector<Demand> demands = DemandsOf(index_, claims_, now_);
    for (Demand& demand : demands) LeaveWhatRuns(demand);
    for (const Demand& demand : demands) Serve(demand);
    for (std::size_t pool = 0; pool < wanted_.pools.size(); ++pool) Finish(pool);
    return std::move(wanted_);
  }

 private:
  // Puts the machines that are there, or will be, into the room, and ends those that are done.
  void LookAtMachines();
  // Finds out which pools may order, and orders what they have in any case.
  void LookAtPools();
  Hold HoldOf(std::size_t pool) const;
  bool MayTry(std::size_t pool) const;
  std::int64_t MostMore(std::size_t pool) const;
  std::int64_t Depth(std::size_t pool) const;

  // What runs stays where it is: only the rest is worth a machine elsewhere, idle or new.
  void LeaveWhatRuns(Demand& demand);
  void Serve(const Demand& demand);
  std::int64_t Use(const Claim& claim, std::size_t nth_pool, std::int64_t slots);
  std::int64_t OrderFrom(const Demand& demand, std::size_t nth_pool, std::int64_t slots);
  bool IsCheapest(const Claim& claim, std::size_t nth_pool) const;
  void AddMachines(std::size_t pool, std::int64_t count, OrderFor reason);

  void Finish(std::size_t pool);
  void DrainIdle(std::size_t pool);
  void DrainOverMax(std::size_t pool);

  const PlanPool& Pool(std::size_t pool) const { return index_.snapshot().pools[pool]; }

  const SnapshotIndex& index_;
  const TimePoint now_;
  const std::vector<Claim> claims_;
  PoolRoom room_;
  Caps caps_;
  std::vector<std::int32_t> overdue_;       // machines that have not joined in time
  std::vector<std::int32_t> never_joined_;  // of them, those that their provider has made
  std::vector<std::int64_t> to_come_;       // that may still join
  std::vector<OrderFor> reason_;
  std::vector<std::int64_t> least_;  // machines that a pool keeps, work or not
  Wanted wanted_;
};

void Scaler::LookAtMachines() {
  AddJoined(index_, room_);
  for (std::size_t i = 0; i < index_.snapshot().machines.size(); ++i) {
    const PlanMachine& machine = index_.snapshot().machines[i];
    const auto pool = index_.PoolOf(i);
    if (!pool) continue;
    const bool ours = !Pool(*pool).provider.empty();
    switch (machine.state) {
      case MachineState::kOrdered:
      case MachineState::kBooting:
        if (!ours) break;
        if (now_ - machine.since >= Pool(*pool).boot_limit) {
          ++overdue_[*pool];
          // One that its provider never made says nothing of those that it makes.
          never_joined_[*pool] += machine.state == MachineState::kBooting;
          wanted_.ends.push_back({machine.id, machine.state, EndFor::kNeverJoined});
        } else {
          ++to_come_[*pool];
        }
        break;
      case MachineState::kJoined:
      case MachineState::kGone:
        break;
      case MachineState::kDraining:
        if (!ours || !machine.leases.empty()) break;
        wanted_.ends.push_back({machine.id, machine.state, EndFor::kDrained});
        break;
    }
  }
  for (std::size_t pool = 0; pool < to_come_.size(); ++pool) {
    room_.Add(pool, Pool(pool).shape, true, to_come_[pool]);
  }
}

void Scaler::LookAtPools() {
  for (std::size_t i = 0; i < index_.snapshot().pools.size(); ++i) {
    const PlanPool& pool = Pool(i);
    const std::int64_t coming = index_.Coming(i) - overdue_[i];
    wanted_.pools.push_back({pool.name, coming, 0, 0, MachineLimit(pool, now_), HoldOf(i)});
    if (pool.disabled || pool.provider.empty()) continue;
    least_[i] = std::min(MinMachines(pool), MachineLimit(pool, now_));
    OrderFor reason = OrderFor::kMin;
    const auto step = pool.steps.upper_bound(Depth(i));
    if (step != pool.steps.begin() && std::prev(step)->second > least_[i]) {
      least_[i] = std::min(std::prev(step)->second, MachineLimit(pool, now_));
      reason = OrderFor::kSteps;
    }
    if (wanted_.pools[i].hold != Hold::kNone) continue;
    AddMachines(i, std::min(least_[i] - coming, MostMore(i)), reason);
  }
}

Hold Scaler::HoldOf(std::size_t number) const {
  const PlanPool& pool = Pool(number);
  if (pool.provider.empty()) return Hold::kNoProvider;
  if (pool.disabled) return Hold::kDisabled;
  if (pool.never_joined + never_joined_[number] >= kNeverJoinedMost && !MayTry(number)) {
    return Hold::kProtected;
  }
  // With a quota it is known how many there may be.
  const ProviderWord& word = pool.provider_word;
  if (!word.quota && word.no_capacity_until && now_ < *word.no_capacity_until) {
    return Hold::kNoCapacity;
  }
  const auto cap = PriceCap(pool);
  return cap && pool.price > *cap ? Hold::kPrice : Hold::kNone;
}

// Of a pool that is protected, one that is to show whether machines join again.
bool Scaler::MayTry(std::size_t number) const {
  const auto at = NextTrial(Pool(number));
  return at && now_ >= *at && never_joined_[number] == 0;
}

// Machines that may be ordered beside those that are there or were ordered before.
std::int64_t Scaler::MostMore(std::size_t number) const {
  const PoolOutlook& outlook = wanted_.pools[number];
  std::int64_t most = outlook.limit - index_.Alive(number) - outlook.ordered;
  if (NextTrial(Pool(number))) most = std::min(most, 1 - to_come_[number] - outlook.ordered);
  return std::max<std::int64_t>(most, 0);
}

// Items that wait or run in the queues that use a pool.
std::int64_t Scaler::Depth(std::size_t pool) const {
  std::int64_t items = 0;
  for (const Claim& claim : claims_) {
    if (std::find(claim.pools.begin(), claim.pools.end(), pool) == claim.pools.end()) continue;
    items += ItemsLeft(claim);
  }
  return items;
}

void Scaler::LeaveWhatRuns(Demand& demand) {
  const Claim& claim = claims_[demand.claim];
  std::int64_t running = std::min(claim.running, demand.slots);
  for (std::size_t p = 0; p < claim.pools.size() && running > 0; ++p) {
    const auto here = index_.Running(claim.job).find(claim.pools[p]);
    if (here == index_.Running(claim.job).end()) continue;
    const std::int64_t stay = Use(claim, p, std::min(running, here->second));
    running -= stay;
    demand.slots -= stay;
  }
}

void Scaler::Serve(const Demand& demand) {
  const Claim& claim = claims_[demand.claim];
  std::int64_t left = demand.slots;
  std::vector<std::size_t> later;
  for (std::size_t p = 0; p < claim.pools.size() && left > 0; ++p) {
    left -= Use(claim, p, left);
    if (later.empty() && IsCheapest(claim, p)) {
      left -= OrderFrom(demand, p, left);
    } else {
      later.push_back(p);
    }
  }
  for (const std::size_t p : later) left -= OrderFrom(demand, p, left);
}

// Whether what follows in the claim's order, and has machines, costs more.
bool Scaler::IsCheapest(const Claim& claim, std::size_t nth_pool) const {
  for (std::size_t p = nth_pool + 1; p < claim.pools.size(); ++p) {
    if (wanted_.pools[claim.pools[p]].coming == 0) continue;
    if (claim.costs[p].an_hour <= claim.costs[nth_pool].an_hour) return false;
  }
  return true;
}

std::int64_t Scaler::Use(const Claim& claim, std::size_t nth_pool, std::int64_t slots) {
  const std::int64_t allowed = caps_.Allow(claim, nth_pool, slots);
  if (allowed <= 0) return 0;
  const std::size_t kind = room_.KindOf(index_.snapshot().jobs[claim.job].need);
  const std::int64_t got = room_.Place(claim.pools[nth_pool], kind, allowed).slots;
  caps_.Add(claim.job, claim.queue, claim.costs[nth_pool], got);
  return got;
}

std::int64_t Scaler::OrderFrom(const Demand& demand, std::size_t nth_pool, std::int64_t slots) {
  const Claim& claim = claims_[demand.claim];
  const std::size_t pool = claim.pools[nth_pool];
  PoolOutlook& outlook = wanted_.pools[pool];
  if (outlook.hold != Hold::kNone) return 0;
  const std::int64_t allowed = caps_.Allow(claim, nth_pool, slots);
  if (allowed <= 0) return 0;
  const std::int64_t on_one = SlotsIn(*index_.Shape(pool), index_.snapshot().jobs[claim.job].need);
  if (on_one == 0) return 0;  // it fits on machines that were there before only
  if (!Pool(pool).steps.empty()) {
    outlook.hold = Hold::kSteps;
    return 0;
  }
  const std::int64_t wanted = (allowed + on_one - 1) / on_one;
  const std::int64_t most = MostMore(pool);
  if (wanted > most) {
    const bool is_quota = outlook.limit < MaxMachines(Pool(pool));
    outlook.hold = NextTrial(Pool(pool)) ? Hold::kProtected : is_quota ? Hold::kQuota : Hold::kMax;
  }
  AddMachines(pool, std::min(wanted, most), demand.canary ? OrderFor::kCanary : OrderFor::kWork);
  return Use(claim, nth_pool, allowed);
}

void Scaler::AddMachines(std::size_t pool, std::int64_t count, OrderFor reason) {
  if (count <= 0) return;
  wanted_.pools[pool].ordered += count;
  reason_[pool] = std::max(reason_[pool], reason);
  room_.Add(pool, Pool(pool).shape, true, count);
}

void Scaler::Finish(std::size_t pool) {
  PoolOutlook& outlook = wanted_.pools[pool];
  outlook.needed = room_.Touched(pool);
  if (outlook.ordered > 0) {
    const std::int64_t first = Pool(pool).next_number;
    wanted_.orders.push_back({outlook.pool, first, outlook.ordered, reason_[pool]});
  }
  if (Pool(pool).provider.empty()) return;
  DrainIdle(pool);
  DrainOverMax(pool);
}

void Scaler::DrainIdle(std::size_t number) {
  const PlanPool& pool = Pool(number);
  const PoolOutlook& outlook = wanted_.pools[number];
  std::vector<const PlanMachine*> idle;
  for (std::size_t i = 0; i < index_.snapshot().machines.size(); ++i) {
    const PlanMachine& machine = index_.snapshot().machines[i];
    if (index_.PoolOf(i) != number || machine.state != MachineState::kJoined) continue;
    if (!machine.leases.empty() || now_ - machine.billed_from < pool.billed_at_least) continue;
    if (pool.disabled || now_ - machine.idle_since >= pool.idle) idle.push_back(&machine);
  }
  std::sort(idle.begin(), idle.end(), [](const PlanMachine* a, const PlanMachine* b) {
    return std::tie(a->idle_since, a->number, a->id) < std::tie(b->idle_since, b->number, b->id);
  });
  const std::int64_t keep = std::max(outlook.needed, least_[number]);
  const std::int64_t spare = outlook.coming + outlook.ordered - keep;
  for (std::int64_t i = 0; i < spare && i < static_cast<std::int64_t>(idle.size()); ++i) {
    wanted_.drains.push_back({idle[static_cast<std::size_t>(i)]->id,
                              pool.disabled ? DrainFor::kDisabled : DrainFor::kIdle});
  }
}

// Only a person who has lowered the max brings this about.
void Scaler::DrainOverMax(std::size_t number) {
  std::int64_t over = wanted_.pools[number].coming - MaxMachines(Pool(number));
  if (over <= 0) return;
  std::vector<std::pair<std::int64_t, const PlanMachine*>> order;  // least leased first
  for (std::size_t i = 0; i < index_.snapshot().machines.size(); ++i) {
    const PlanMachine& machine = index_.snapshot().machines[i];
    if (index_.PoolOf(i) != number || machine.state != MachineState::kJoined) continue;
    std::int64_t slots = 0;
    for (const MachineLease& lease : machine.leases) slots += lease.slots;
    order.emplace_back(slots, &machine);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->number, a.second->id) <
           std::tie(b.first, b.second->number, b.second->id);
  });
  for (const auto& [slots, machine] : order) {
    const bool drained =
        std::any_of(wanted_.drains.begin(), wanted_.drains.end(),
                    [name = &machine->id](const Drain& drain) { return drain.machine == *name; });
    if (over-- <= 0) break;
    if (!drained) wanted_.drains.push_back({machine->id, DrainFor::kOverMax});
  }
}

}  // namespace

std::int64_t MinMachines(const PlanPool& pool) {
  if (pool.unit == SizeUnit::kMachines) return pool.min;
  const std::int64_t each = std::max<std::int64_t>(pool.shape.millicpus, 1);
  return (pool.min * 1000 + each - 1) / each;
}

std::int64_t MaxMachines(const PlanPool& pool) {
  const std::int64_t each = std::max<std::int64_t>(pool.shape.millicpus, 1);
  return pool.unit == SizeUnit::kMachines ? pool.max : pool.max * 1000 / each;
}

std::int64_t MachineLimit(const PlanPool& pool, TimePoint now) {
  const ProviderWord& word = pool.provider_word;
  const bool holds = word.quota && word.no_capacity_until && now < *word.no_capacity_until;
  return holds ? std::min(MaxMachines(pool), *word.quota) : MaxMachines(pool);
}

std::optional<TimePoint> NextTrial(const PlanPool& pool) {
  const std::int32_t beyond = pool.never_joined - kNeverJoinedMost;
  if (beyond < 0) return std::nullopt;
  return pool.never_joined_at + std::min(kFirstTrial * (1 << std::min(beyond, 10)), kLatestTrial);
}

std::optional<Money> PriceCap(const PlanPool& pool) {
  if (!pool.max_price) return std::nullopt;
  return Money{MulDiv(pool.on_demand.micros, *pool.max_price, 100)};
}

Wanted Autoscale(const SnapshotIndex& index, TimePoint now) { return Scaler(index, now).Make(); }

}  // namespace tidemill
