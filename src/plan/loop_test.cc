// SPDX-License-Identifier: Apache-2.0
// The whole loop in a small world, second by second: from no machine to many and back to none, with
// two leaders of which one is late, machines that never join, and machines that are lost.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plan/autoscale.h"
#include "plan/free_room.h"
#include "plan/money.h"
#include "plan/plan_test.h"
#include "plan/schedule.h"

namespace tidemill {
namespace {

using namespace std::chrono_literals;
using plan_test::JobOf;
using plan_test::kNow;

constexpr Duration kBoots = 30s;
constexpr Duration kTakes = 20s;

class Loop0N0 {
 public:
  explicit Loop0N0(std::uint32_t seed) : dice_(seed), world_(plan_test::World(0)) {
    world_.pools[0].max = 40;
    world_.pools[0].boot_limit = 90s;
    world_.pools[0].idle = 60s;
    world_.jobs = {JobOf(1, "q", 3000), JobOf(2, "q", 10)};
    for (PlanJob& job : world_.jobs) job.served = kNow;
  }

  void Step() {
    const TimePoint before = now_;
    now_ += 1s;
    Account(before);
    EndItems();
    MoveMachines();
    Grant();
    const Wanted wanted = Autoscale(SnapshotIndex(world_), now_);
    Carry(wanted);
    Carry(late_);  // the other leader says what was right some seconds ago
    if (dice_() % 5 == 0) late_ = wanted;
    std::int64_t alive = 0;
    for (const PlanMachine& machine : world_.machines) {
      alive += machine.state != MachineState::kGone;
    }
    most_ = std::max(most_, alive);
    EXPECT_LE(alive, 40);
  }

  bool AllDone() const {
    return std::all_of(world_.jobs.begin(), world_.jobs.end(),
                       [](const PlanJob& job) { return job.waiting + job.leased == 0; });
  }
  bool AllGone() const {
    return std::all_of(world_.machines.begin(), world_.machines.end(),
                       [](const auto& machine) { return machine.state == MachineState::kGone; });
  }
  std::int64_t most() const { return most_; }
  Money PutDownSum() const { return sum_; }
  Money BillSum() const {
    Money sum;
    for (const PlanMachine& machine : world_.machines)
      sum += BillUntil(machine, now_, kDefaultBilledAtLeast);
    return sum;
  }

 private:
  struct Item {
    std::size_t job = 0;
    std::size_t machine = 0;
    TimePoint end;
  };

  void Account(TimePoint before) {
    const SnapshotIndex index(world_);
    for (std::size_t i = 0; i < world_.machines.size(); ++i) {
      for (const Entry& entry : PutDown(index, i, before, now_)) sum_ += entry.amount;
    }
  }
  void Lease(std::size_t machine, std::size_t job, std::int64_t slots) {
    auto& leases = world_.machines[machine].leases;
    auto found = std::find_if(leases.begin(), leases.end(), [&](const MachineLease& lease) {
      return lease.job == world_.jobs[job].id;
    });
    if (found == leases.end()) found = leases.insert(found, {world_.jobs[job].id, 0, ""});
    found->slots += slots;
    if (found->slots == 0) leases.erase(found);
    if (leases.empty()) world_.machines[machine].idle_since = now_;
    world_.jobs[job].leased += slots;
  }
  void EndItems() {
    std::erase_if(items_, [this](const Item& item) {
      if (item.end > now_) return false;
      Lease(item.machine, item.job, -1);
      world_.jobs[item.job].times = plan_test::Takes(kTakes);
      return true;
    });
  }
  void MoveMachines() {
    for (std::size_t i = 0; i < world_.machines.size(); ++i) {
      PlanMachine& machine = world_.machines[i];
      if (machine.state == MachineState::kBooting && now_ - machine.since >= kBoots &&
          machine.number % 7 != 3) {  // those never join
        machine.state = MachineState::kJoined;
        machine.has = world_.pools[0].shape;
        machine.since = machine.idle_since = now_;
        machine.joined = now_;
        world_.pools[0].never_joined = 0;
      } else if (machine.state == MachineState::kJoined && dice_() % 2000 == 0) {
        std::erase_if(items_, [&](const Item& item) {  // lost, with all that ran on it
          if (item.machine != i) return false;
          Lease(i, item.job, -1);
          ++world_.jobs[item.job].waiting;
          return true;
        });
        machine.state = MachineState::kGone;
        machine.since = now_;
      }
    }
  }
  void Grant() {
    const Plan plan = plan_test::PlanOf(world_, now_);
    for (const PlanRow& row : plan.rows) {
      const auto number = static_cast<std::size_t>(row.job.number - 1);
      PlanJob& job = world_.jobs[number];
      for (std::size_t i = 0; i < world_.machines.size(); ++i) {
        if (world_.machines[i].state != MachineState::kJoined) continue;
        const FreeOn on = FreeOf(SnapshotIndex(world_), world_.machines[i]);
        std::int64_t slots =
            std::min({SlotsIn(on.free, job.need), job.waiting, row.slots - job.leased});
        for (; slots > 0; --slots) {
          Lease(i, number, 1);
          --job.waiting;
          job.served = now_;
          items_.push_back({number, i, now_ + kTakes});
        }
      }
    }
  }
  PlanMachine* Named(const std::string& id) {
    for (PlanMachine& machine : world_.machines) {
      if (machine.id == id) return &machine;
    }
    return nullptr;
  }
  void Carry(const Wanted& wanted) {
    PlanPool& pool = world_.pools[0];
    for (const Order& order : wanted.orders) {
      for (std::int64_t n = order.first; n < order.first + order.count; ++n) {
        if (n < pool.next_number) continue;  // the row is there
        world_.machines.push_back(plan_test::MachineOf(pool, n, MachineState::kBooting));
        world_.machines.back().since = world_.machines.back().billed_from = now_;
        pool.next_number = n + 1;
      }
    }
    for (const Drain& drain : wanted.drains) {
      PlanMachine* machine = Named(drain.machine);
      if (machine->state != MachineState::kJoined) continue;
      machine->state = MachineState::kDraining;
      machine->since = now_;
    }
    for (const End& end : wanted.ends) {
      PlanMachine* machine = Named(end.machine);
      if (machine->state != end.seen || !machine->leases.empty()) continue;
      if (end.reason == EndFor::kNeverJoined) ++pool.never_joined;
      machine->state = MachineState::kGone;
      machine->since = now_;
    }
  }

  std::mt19937 dice_;
  Snapshot world_;
  TimePoint now_ = kNow;
  Wanted late_;
  std::vector<Item> items_;
  std::int64_t most_ = 0;
  Money sum_;
};

TEST(Loop, GoesFromNoneToManyToNoneAndTheMoneyAddsUp) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    Loop0N0 loop(seed);
    int seconds = 0;
    while (!loop.AllDone() && seconds < 3000) {
      loop.Step();
      ++seconds;
    }
    EXPECT_TRUE(loop.AllDone()) << "seed " << seed;
    EXPECT_GE(loop.most(), 20) << "seed " << seed;
    // Idle 60 s, then drained and ended; a machine that just booted lives for its boot limit.
    for (int i = 0; i < 160 && !loop.AllGone(); ++i) loop.Step();
    EXPECT_TRUE(loop.AllGone()) << "seed " << seed;
    EXPECT_EQ(loop.PutDownSum(), loop.BillSum()) << "seed " << seed;
    EXPECT_GT(loop.BillSum(), Money{0});
  }
}

}  // namespace
}  // namespace tidemill
