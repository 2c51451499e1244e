// SPDX-License-Identifier: Apache-2.0
#include "plan/autoscale.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plan/plan_test.h"

namespace tidemill {
namespace {

using namespace std::chrono_literals;
using plan_test::Dollars;
using plan_test::JobOf;
using plan_test::kGiB;
using plan_test::kNow;
using plan_test::MachineOf;
using plan_test::PoolOf;
using plan_test::QueueOf;
using plan_test::Takes;
using plan_test::World;

Wanted WantedOf(const Snapshot& snapshot, TimePoint now = kNow) {
  return Autoscale(SnapshotIndex(snapshot), now);
}

std::int64_t OrderedFrom(const Wanted& wanted, const std::string& pool) {
  for (const Order& order : wanted.orders) {
    if (order.pool == pool) return order.count;
  }
  return 0;
}

Hold HoldOf(const Wanted& wanted, const std::string& pool) {
  for (const PoolOutlook& one : wanted.pools) {
    if (one.pool == pool) return one.hold;
  }
  return Hold::kNone;
}

// A job of 24,000 items of 60 s: 400 hours of a cpu, for which 600 machines work 10 minutes.
Snapshot Flood(std::int64_t machines = 0) {
  Snapshot world = World(machines);
  world.pools[0].max = 1000;
  world.jobs = {JobOf(1, "q", 24'000)};
  world.jobs[0].times = Takes(60s);
  return world;
}

// A first pool that is spot, and a second one that is not and costs twice as much.
Snapshot TwoPools() {
  Snapshot world = Flood();
  world.queues[0].pools = {"p", "dear"};
  world.pools[0].spot = true;
  world.pools[0].price = Dollars(0.20);
  world.pools.push_back(PoolOf("dear"));
  world.pools[1].max = 1000;
  return world;
}

TEST(Autoscale, OrdersNothingForNothing) {
  EXPECT_EQ(WantedOf({}), Wanted());
  EXPECT_TRUE(WantedOf(World(0)).orders.empty());
}

TEST(Autoscale, OrdersAFewMachinesUntilTimesAreKnownThenTheFlood) {
  Snapshot world = Flood();
  world.jobs[0].times.reset();
  EXPECT_EQ(WantedOf(world).orders, (std::vector<Order>{{"p", 0, 3, OrderFor::kCanary}}));
  world.jobs[0].times = Takes(60s);
  // 24,000 x 60 s / 600 s are 2,400 slots, four on a machine.
  EXPECT_EQ(WantedOf(world).orders, (std::vector<Order>{{"p", 0, 600, OrderFor::kWork}}));
}

TEST(Autoscale, OrdersTheWholeDeficitInOneStepAndOnce) {
  Snapshot world = Flood(100);
  for (std::int64_t i = 100; i < 150; ++i) {
    world.machines.push_back(MachineOf(world.pools[0], i, MachineState::kOrdered));
  }
  world.pools[0].next_number = 150;
  EXPECT_EQ(WantedOf(world).orders, (std::vector<Order>{{"p", 150, 450, OrderFor::kWork}}));
}

TEST(Autoscale, OrdersNoMachineForWorkOfSeconds) {
  Snapshot world = Flood();
  world.jobs[0].waiting = 1000;
  world.jobs[0].times = Takes(1s);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 1);  // 1,000 s are two slots
}

TEST(Autoscale, OrdersNoMoreForManySmallJobsThanForALargeOne) {
  Snapshot world = Flood();
  world.jobs.clear();
  for (int i = 1; i <= 1000; ++i) {
    world.jobs.push_back(JobOf(i, "q", 10));
    world.jobs.back().times = Takes(1s);
  }
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 5);  // 10,000 s are 17 slots
  for (PlanJob& job : world.jobs) job.times.reset();
  // Ten of them are tried, each worth three machines; together they fit on 25.
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 25);
  // One that may not run is no reason for a machine, and takes none from the next.
  world.jobs.resize(2);
  for (PlanJob& job : world.jobs) job.times = Takes(1s);
  world.jobs[0].budget = world.jobs[0].spent = Dollars(1);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 1);
}

TEST(Autoscale, OrdersWhatADeadlineNeeds) {
  Snapshot world = Flood();
  // 400 hours of a cpu in 80 % of 10 hours are 50 slots.
  world.jobs[0].deadline = kNow + 10h + 2min;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 13);
  // 24,000 minutes in 80 % of 8 minutes: 3,750 slots.
  world.jobs[0].deadline = kNow + 10min;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 938);
  world.jobs[0].deadline = kNow - 1h;  // too late: a machine for each item, up to the limit
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 1000);
}

TEST(Autoscale, OrdersNoMoreThanTheBudgetBuys) {
  Snapshot world = Flood();
  // A slot costs 0.10 $ an hour, an item 0.001666 $: 2.20 $ buy 1,320 items, 132 slots.
  // 270 s and an item of a slot are 0.00916 $: 240 slots could be committed.
  world.jobs[0].budget = Dollars(2.20);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 33);
  world.jobs[0].spent = Dollars(2.20);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 0);
}

TEST(Autoscale, KeepsTheLimitsOfAQueue) {
  Snapshot world = Flood();
  world.queues[0].limits = {.machines = 20, .cost_an_hour = {}, .running = {}};
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 20);
  world.queues[0].limits = {.machines = {}, .cost_an_hour = Dollars(4), .running = {}};
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 10);
  world.queues[0].limits = {.machines = {}, .cost_an_hour = {}, .running = 9};
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 3);
  world.queues[0].limits = {};
  world.jobs[0].max_parallel = 5;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 2);
}

TEST(Autoscale, NeverGoesAboveMaxOrQuota) {
  Snapshot world = Flood(30);
  world.pools[0].max = 50;
  world.machines[0].state = MachineState::kDraining;  // still billed
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 20);
  EXPECT_EQ(HoldOf(WantedOf(world), "p"), Hold::kMax);
  world.pools[0].unit = SizeUnit::kVcpus;  // 50 vCPUs are 12 machines, and 30 are there
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 0);
  world.pools[0].unit = SizeUnit::kMachines;
  world.pools[0].provider_word.quota = 33;
  world.pools[0].provider_word.no_capacity_until = kNow + 1s;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 3);
  EXPECT_EQ(HoldOf(WantedOf(world), "p"), Hold::kQuota);
  // It may have been raised.
  world.pools[0].provider_word.no_capacity_until = kNow;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 20);
  world.pools[0].provider_word.quota = 0;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 20);
}

TEST(Autoscale, KeepsItsMin) {
  Snapshot world = World(1);
  world.pools[0].min = 3;
  EXPECT_EQ(WantedOf(world).orders, (std::vector<Order>{{"p", 1, 2, OrderFor::kMin}}));
  world = World(3);
  world.pools[0].min = 2;
  for (PlanMachine& machine : world.machines) machine.idle_since = kNow - 10min;
  EXPECT_EQ(WantedOf(world).drains.size(), 1U);
  world.pools[0].unit = SizeUnit::kVcpus;
  world.pools[0].min = 9;  // of machines with four
  EXPECT_TRUE(WantedOf(world).drains.empty());
}

TEST(Autoscale, FallsThroughWhenThereIsNoCapacityAndComesBack) {
  Snapshot world = TwoPools();
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 600);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "dear"), 0);
  world.pools[0].provider_word.no_capacity_until = kNow + 2min;
  Wanted wanted = WantedOf(world);
  EXPECT_EQ(OrderedFrom(wanted, "p"), 0);
  EXPECT_EQ(OrderedFrom(wanted, "dear"), 600);
  EXPECT_EQ(HoldOf(wanted, "p"), Hold::kNoCapacity);
  // The machines of the second pool have come. Two minutes later the first is asked again: it costs
  // less, so those of the second are not wanted any more.
  for (std::int64_t i = 0; i < 600; ++i) {
    world.machines.push_back(MachineOf(world.pools[1], i));
    world.machines.back().idle_since = kNow - 10min;
  }
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 0);
  EXPECT_TRUE(WantedOf(world).drains.empty());
  wanted = WantedOf(world, kNow + 2min);
  EXPECT_EQ(OrderedFrom(wanted, "p"), 600);
  EXPECT_EQ(wanted.drains.size(), 600U);
}

TEST(Autoscale, UsesWhatIsThereBeforeItOrders) {
  Snapshot world = TwoPools();
  world.pools[1].price = world.pools[0].price;
  for (std::int64_t i = 0; i < 599; ++i) world.machines.push_back(MachineOf(world.pools[1], i));
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 1);
}

TEST(Autoscale, FallsThroughWhenThePoolIsFull) {
  Snapshot world = TwoPools();
  world.pools[0].max = 400;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 400);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "dear"), 200);
}

TEST(Autoscale, OrdersNothingAboveThePriceCap) {
  Snapshot world = TwoPools();
  world.pools[0].max_price = 50;  // of 0.40 $
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 600);
  world.pools[0].price = Dollars(0.200001);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 0);
  EXPECT_EQ(HoldOf(WantedOf(world), "p"), Hold::kPrice);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "dear"), 600);
}

TEST(Autoscale, OrdersMachinesThatLastForWhatWasInterruptedOften) {
  Snapshot world = TwoPools();
  world.jobs[0].worn_waiting = 40;  // 40 minutes of work: four slots
  const Wanted wanted = WantedOf(world);
  EXPECT_EQ(OrderedFrom(wanted, "dear"), 1);
  EXPECT_EQ(OrderedFrom(wanted, "p"), 599);
}

TEST(Autoscale, KeepsNoMachineForWhatWasInterruptedOftenAndRunsElsewhere) {
  Snapshot world = World(1);
  world.pools[0].spot = true;
  world.pools.push_back(PoolOf("lasting"));
  world.queues[0].pools = {"p", "lasting"};
  world.machines.push_back(MachineOf(world.pools[1], 0));
  world.machines[1].idle_since = kNow - 6min;
  world.jobs = {JobOf(1, "q", 0)};
  world.jobs[0].times = Takes(60min);
  world.jobs[0].leased = world.jobs[0].worn_leased = 3;
  world.machines[0].leases = {{JobId{1}, 3, ""}};
  EXPECT_EQ(WantedOf(world).drains, (std::vector<Drain>{{"lasting-0", DrainFor::kIdle}}));
}

TEST(Autoscale, FollowsTheDepthOfTheQueueIfAskedTo) {
  Snapshot world = Flood();
  world.pools[0].steps = {{1, 1}, {101, 2}, {1001, 7}};
  EXPECT_EQ(WantedOf(world).orders, (std::vector<Order>{{"p", 0, 7, OrderFor::kSteps}}));
  world.jobs[0].waiting = 101;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 2);
  world.jobs[0].waiting = 100;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 1);
  world.jobs[0].waiting = 0;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 0);
}

TEST(Autoscale, DrainsWhatHasBeenIdleForLong) {
  Snapshot world = World(3);
  world.machines[0].idle_since = kNow - 5min + 1s;
  world.machines[1].idle_since = kNow - 5min;
  world.machines[2].idle_since = kNow - 9min;
  EXPECT_EQ(WantedOf(world).drains,
            (std::vector<Drain>{{"p-2", DrainFor::kIdle}, {"p-1", DrainFor::kIdle}}));
  world.jobs = {JobOf(1, "q", 5)};  // wants two machines; the one longest idle goes
  world.jobs[0].times = Takes(10min);
  EXPECT_EQ(WantedOf(world).drains, (std::vector<Drain>{{"p-2", DrainFor::kIdle}}));
}

// The items could run on the first pool's machine, but they do run on the second's.
TEST(Autoscale, DrainsWhatIsIdleThoughItWouldHaveRoomForWhatRunsElsewhere) {
  Snapshot world = World(1);
  world.machines[0].idle_since = kNow - 6min;
  world.pools.push_back(PoolOf("r"));
  world.queues[0].pools = {"p", "r"};
  world.machines.push_back(MachineOf(world.pools[1], 0));
  world.jobs = {JobOf(1, "q", 0)};
  world.jobs[0].times = Takes(60min);
  world.jobs[0].leased = 3;
  world.machines[1].leases = {{JobId{1}, 3, ""}};
  EXPECT_EQ(WantedOf(world).drains, (std::vector<Drain>{{"p-0", DrainFor::kIdle}}));
}

TEST(Autoscale, DrainsNothingBeforeTheLeastThatIsBilled) {
  Snapshot world = World(1);
  world.pools[0].idle = 10s;
  world.machines[0].idle_since = kNow - 20s;
  world.machines[0].billed_from = kNow - 59s;
  EXPECT_TRUE(WantedOf(world).drains.empty());
  EXPECT_EQ(WantedOf(world, kNow + 1s).drains.size(), 1U);
  world.pools[0].billed_at_least = 10min;
  EXPECT_TRUE(WantedOf(world, kNow + 1s).drains.empty());
  world.pools[0].billed_at_least = 0s;
  EXPECT_EQ(WantedOf(world).drains.size(), 1U);
}

// A late job gets no machine that would be billed for longer than it works.
TEST(Autoscale, SpreadsALateJobByWhatItsFirstPoolBillsAtLeast) {
  Snapshot world = World(0);
  world.jobs = {JobOf(1, "q", 400)};
  world.jobs[0].times = Takes(6s);
  world.jobs[0].deadline = kNow - 1h;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"),
            10);  // 40 minutes of work, in a minute, four a machine
  world.pools[0].billed_at_least = 10min;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 1);
  world.pools[0].billed_at_least = 0s;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 100);  // one for each item, up to the maximum
}

TEST(Autoscale, DrainsADisabledPoolAtOnce) {
  Snapshot world = World(2);
  world.pools[0].min = 2;
  world.pools[0].disabled = true;
  world.jobs = {JobOf(1, "q", 5)};
  world.machines[0].leases = {{JobId{1}, 1, ""}};  // but not what works
  EXPECT_EQ(WantedOf(world).drains, (std::vector<Drain>{{"p-1", DrainFor::kDisabled}}));
}

TEST(Autoscale, DrainsWhatIsAboveALoweredMaxLeastBusyFirst) {
  Snapshot world = Flood(3);
  world.pools[0].max = 1;
  world.machines[0].leases = {{JobId{1}, 2, ""}};
  world.machines[1].leases = {{JobId{1}, 4, ""}};
  world.machines[2].leases = {{JobId{1}, 3, ""}};
  EXPECT_EQ(WantedOf(world).drains,
            (std::vector<Drain>{{"p-0", DrainFor::kOverMax}, {"p-2", DrainFor::kOverMax}}));
}

TEST(Autoscale, EndsOnlyWhatHasDrainedAndIsEmpty) {
  Snapshot world = World(3);
  world.machines[0].state = MachineState::kDraining;
  world.machines[1].state = MachineState::kDraining;
  world.jobs = {JobOf(1, "q", 0)};
  world.machines[1].leases = {{JobId{1}, 1, ""}};
  EXPECT_EQ(WantedOf(world).ends,
            (std::vector<End>{{"p-0", MachineState::kDraining, EndFor::kDrained}}));
}

TEST(Autoscale, EndsWhatNeverJoinedAndOrdersAnother) {
  Snapshot world = Flood();
  world.pools[0].max = 2;
  world.machines = {MachineOf(world.pools[0], 0, MachineState::kBooting)};
  world.pools[0].next_number = 1;
  world.machines[0].since = kNow - 10min + 1s;
  EXPECT_TRUE(WantedOf(world).ends.empty());
  world.machines[0].since = kNow - 10min;
  const Wanted wanted = WantedOf(world);
  EXPECT_EQ(wanted.ends, (std::vector<End>{{"p-0", MachineState::kBooting, EndFor::kNeverJoined}}));
  // It is billed until it is gone, so there is room for one more only.
  EXPECT_EQ(wanted.orders, (std::vector<Order>{{"p", 1, 1, OrderFor::kWork}}));
}

TEST(Autoscale, ProtectsAPoolWhoseMachinesDoNotJoin) {
  Snapshot world = TwoPools();
  world.pools[0].never_joined = 2;
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 600);
  world.machines = {MachineOf(world.pools[0], 0, MachineState::kOrdered)};
  world.machines[0].since = kNow - 11min;
  EXPECT_GT(OrderedFrom(WantedOf(world), "p"), 0) << "its provider has not made it";
  world.machines[0].state = MachineState::kBooting;  // the third
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 0);
  EXPECT_EQ(HoldOf(WantedOf(world), "p"), Hold::kProtected);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "dear"), 600);
}

TEST(Autoscale, TriesOneMachineOfAProtectedPoolNowAndThen) {
  Snapshot world = TwoPools();
  PlanPool& pool = world.pools[0];
  const auto orders_after = [&](std::int32_t never_joined, Duration time) {
    pool.never_joined = never_joined;
    pool.never_joined_at = kNow - time;
    return OrderedFrom(WantedOf(world), "p");
  };
  EXPECT_EQ(orders_after(3, 15min - 1s), 0);
  EXPECT_EQ(orders_after(3, 15min), 1);
  EXPECT_EQ(HoldOf(WantedOf(world), "p"), Hold::kProtected);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "dear"), 599);
  EXPECT_EQ(orders_after(4, 30min - 1s), 0);
  EXPECT_EQ(orders_after(4, 30min), 1);
  EXPECT_EQ(orders_after(100, 4h - 1s), 0);
  EXPECT_EQ(orders_after(100, 4h), 1);
  pool.min = 5;
  EXPECT_EQ(orders_after(3, 15min), 1);
  // It is on its way: no other is tried beside it.
  world.machines = {MachineOf(pool, 0, MachineState::kBooting)};
  world.machines[0].since = kNow;
  EXPECT_EQ(orders_after(3, 15min), 0);
}

TEST(Autoscale, LeavesMachinesWithoutAProviderAlone) {
  Snapshot world = Flood(2);
  world.pools[0].provider.clear();
  for (PlanMachine& machine : world.machines) machine.idle_since = kNow - 24h;
  world.jobs[0].waiting = 0;
  world.machines[1].state = MachineState::kDraining;
  world.machines.push_back(MachineOf(PoolOf("unknown"), 0));
  world.machines.back().idle_since = kNow - 24h;
  const Wanted wanted = WantedOf(world);
  EXPECT_TRUE(wanted.orders.empty());
  EXPECT_TRUE(wanted.drains.empty());
  EXPECT_TRUE(wanted.ends.empty());
}

TEST(Autoscale, OrdersByWhatFitsOnAMachine) {
  Snapshot world = Flood();
  world.jobs[0].waiting = 10;
  world.jobs[0].times = Takes(10min);
  world.jobs[0].need = {1000, 6 * kGiB};  // two a machine
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 5);
  world.jobs[0].need = {0, 0, {{kWholeMachine, 1}}};
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 10);
  world.jobs.push_back(JobOf(2, "q", 4));  // fills one more, not four
  world.jobs[1].times = Takes(10min);
  EXPECT_EQ(OrderedFrom(WantedOf(world), "p"), 11);
}

}  // namespace
}  // namespace tidemill
