// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.h"

#include <chrono>
#include <string>

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
using plan_test::PlanOf;
using plan_test::PoolOf;
using plan_test::QueueOf;
using plan_test::SlotsOf;
using plan_test::Takes;
using plan_test::World;

// Two queues, `a` and `b`, on one pool, each with more work than there are slots.
Snapshot TwoQueues(std::int64_t machines) {
  Snapshot world = World(machines);
  world.queues = {QueueOf("a", {"p"}), QueueOf("b", {"p"})};
  world.jobs = {JobOf(1, "a", 100'000), JobOf(2, "b", 100'000)};
  return world;
}

TEST(Schedule, PlansNothingWhereThereIsNothing) {
  EXPECT_EQ(PlanOf({}), Plan());
  EXPECT_EQ(PlanOf(World(3)), Plan());
  Snapshot world = World(0);
  world.jobs = {JobOf(1, "q", 10)};
  EXPECT_EQ(PlanOf(world), Plan());
}

TEST(Schedule, GivesAJobAllThatItCanUse) {
  Snapshot world = World(10);
  world.jobs = {JobOf(1, "q", 7)};
  EXPECT_EQ(PlanOf(world).rows, (std::vector<PlanRow>{{{1}, "p", 7, 0}}));
  world.jobs = {JobOf(1, "q", 1000)};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 40);
}

TEST(Schedule, AJobHasItsTurnBeforeTheNextOne) {
  Snapshot world = World(1);
  for (std::int64_t id = 1; id <= 8; ++id) world.jobs.push_back(JobOf(id, "q", 1000));
  for (std::int64_t id = 1; id <= 4; ++id) {
    world.machines[0].leases.push_back({.job = {id}, .slots = 1, .waits_for = ""});
    world.jobs[static_cast<std::size_t>(id - 1)].runs_since = kNow - 10s;
  }
  for (std::int64_t id = 1; id <= 8; ++id) EXPECT_EQ(SlotsOf(PlanOf(world), id), id <= 4) << id;
  for (PlanJob& job : world.jobs) job.runs_since = kNow - 20s;
  for (std::int64_t id = 1; id <= 8; ++id) EXPECT_EQ(SlotsOf(PlanOf(world), id), id > 4) << id;
}

TEST(Schedule, AJobThatCanRunNowhereTakesNoShare) {
  Snapshot world = World(2);
  world.jobs = {JobOf(1, "q", 1000), JobOf(2, "q", 1000)};
  world.machines[0].resting = {{1}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 4);
  world.machines[1].resting = {{1}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
  EXPECT_EQ(SlotsOf(PlanOf(world), 2), 8);
}

TEST(Schedule, SharesQueuesByTheirShares) {
  Snapshot world = TwoQueues(1000);
  world.queues[0].share = 3;
  const Plan plan = PlanOf(world);
  EXPECT_EQ(SlotsOf(plan, 1) + SlotsOf(plan, 2), 4000);
  EXPECT_NEAR(static_cast<double>(SlotsOf(plan, 1)), 3000, 3000 * 0.05);
  EXPECT_NEAR(static_cast<double>(SlotsOf(plan, 2)), 1000, 1000 * 0.05);
}

TEST(Schedule, LeavesToOthersWhatAQueueCannotUse) {
  Snapshot world = TwoQueues(10);
  world.jobs[0].waiting = 5;
  const Plan plan = PlanOf(world);
  EXPECT_EQ(SlotsOf(plan, 1), 5);
  EXPECT_EQ(SlotsOf(plan, 2), 35);
}

TEST(Schedule, ServesTheHigherPriorityFirst) {
  Snapshot world = TwoQueues(10);
  world.queues[1].priority = 1;
  EXPECT_EQ(SlotsOf(PlanOf(world), 2), 40);
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
  world.jobs[1].waiting = 30;
  EXPECT_EQ(SlotsOf(PlanOf(world), 2), 30);
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 10);
}

TEST(Schedule, ServesAQueueWithoutAShareLast) {
  Snapshot world = TwoQueues(10);
  world.queues[0].share = 0;
  world.queues[0].priority = 9;
  world.jobs[0].served = kNow - 1h;  // not even its patience counts
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
  world.jobs[1].waiting = 39;
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 1);
}

TEST(Schedule, ServesJobsOfAQueueByPriority) {
  Snapshot world = World(10);
  world.jobs = {JobOf(1, "q", 1000), JobOf(2, "q", 30)};
  world.jobs[1].priority = 1;
  EXPECT_EQ(SlotsOf(PlanOf(world), 2), 30);
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 10);
}

TEST(Schedule, SharesBetweenOwnersWhateverTheNumberOfTheirJobs) {
  Snapshot world = World(100);
  for (int i = 1; i <= 10; ++i) world.jobs.push_back(JobOf(i, "q", 10'000));
  world.jobs[9].owner = "bob";
  const Plan plan = PlanOf(world);
  EXPECT_EQ(SlotsOf(plan, 10), 200);
  for (int i = 1; i <= 9; ++i) EXPECT_NEAR(static_cast<double>(SlotsOf(plan, i)), 22.2, 1) << i;
}

// The example of the paper that dominant-resource fairness comes from: 9 cpus and 18 GB, items of
// (1 cpu, 4 GB) and of (3 cpus, 1 GB): 3 of one and 2 of the other, two thirds each.
TEST(Schedule, SharesByTheResourceOfWhichSomebodyUsesMost) {
  Snapshot world = World(1);
  world.machines[0].has = {9000, 18 * kGiB};
  world.jobs = {JobOf(1, "q", 100), JobOf(2, "q", 100)};
  world.jobs[0].need = {1000, 4 * kGiB};
  world.jobs[1].need = {3000, kGiB};
  world.jobs[1].owner = "bob";
  const Plan plan = PlanOf(world);
  EXPECT_EQ(SlotsOf(plan, 1), 3);
  EXPECT_EQ(SlotsOf(plan, 2), 2);
}

TEST(Schedule, PacksByCpusMemoryAndDevices) {
  Snapshot world = World(10);
  world.jobs = {JobOf(1, "q", 1000)};
  world.jobs[0].need = {3000, kGiB};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 10);  // one a machine; by cpus alone it would be 13
  world.jobs[0].need = {1000, 6 * kGiB};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 20);
  world.jobs[0].need = {1000, kGiB, {{"gpu", 1}}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
  world.machines[3].has.devices["gpu"] = 2;
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 2);
}

TEST(Schedule, GivesAWholeMachineOnlyWhereNothingElseIs) {
  Snapshot world = World(10);
  world.jobs = {JobOf(1, "q", 4), JobOf(2, "q", 1000)};
  world.jobs[0].need = {0, 0, {{kWholeMachine, 1}}};
  const Plan plan = PlanOf(world);
  EXPECT_EQ(SlotsOf(plan, 1), 4);
  EXPECT_EQ(SlotsOf(plan, 2), 24);
}

TEST(Schedule, KeepsMaxParallelOverAllPools) {
  Snapshot world = World(5);
  world.queues[0].pools = {"p", "r"};
  world.pools.push_back(PoolOf("r"));
  for (int i = 0; i < 5; ++i) world.machines.push_back(MachineOf(world.pools[1], i));
  world.jobs = {JobOf(1, "q", 1000)};
  world.jobs[0].max_parallel = 23;
  EXPECT_EQ(SlotsOf(PlanOf(world), 1, "p"), 20);
  EXPECT_EQ(SlotsOf(PlanOf(world), 1, "r"), 3);
  // 20 run in the second pool: only three may be added, though its place is in the first.
  for (int i = 5; i < 10; ++i) {
    world.machines[static_cast<std::size_t>(i)].leases = {{JobId{1}, 4, ""}};
  }
  EXPECT_EQ(SlotsOf(PlanOf(world), 1, "p"), 3);
}

TEST(Schedule, KeepsTheLimitsOfAQueue) {
  Snapshot world = World(10);
  world.jobs = {JobOf(1, "q", 1000), JobOf(2, "q", 1000)};
  world.queues[0].limits.running = 11;
  EXPECT_EQ(SlotsOf(PlanOf(world), 1) + SlotsOf(PlanOf(world), 2), 11);
  world.queues[0].limits = {.machines = 3, .cost_an_hour = {}, .running = {}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1) + SlotsOf(PlanOf(world), 2), 12);
  // A slot is a quarter of a machine of 0.40 $: 0.10 $ an hour.
  world.queues[0].limits = {.machines = {}, .cost_an_hour = Dollars(0.75), .running = {}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1) + SlotsOf(PlanOf(world), 2), 7);
}

TEST(Schedule, AddsNothingWhereMoreRunsThanALimitAllows) {
  Snapshot world = World(10);
  world.jobs = {JobOf(1, "q", 1000), JobOf(2, "q", 1000)};
  world.queues[0].limits.running = 8;
  for (int i = 0; i < 3; ++i) {
    world.machines[static_cast<std::size_t>(i)].leases = {{JobId{1}, 4, ""}};
  }
  const Plan plan = PlanOf(world);
  EXPECT_EQ(SlotsOf(plan, 1), 4);  // its share; 12 run, so none is added until 8 have ended
  EXPECT_EQ(SlotsOf(plan, 2), 0);
}

// A slot costs 0.10 $ an hour. Of items that take 90 s it commits 270 s + 90 s: 0.01 $.
TEST(Schedule, StopsInTimeForTheBudget) {
  Snapshot world = World(100);
  world.jobs = {JobOf(1, "q", 100'000)};
  world.jobs[0].times = Takes(90s);
  world.jobs[0].budget = Dollars(2);
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 200);
  world.jobs[0].spent = Dollars(1.95);
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 5);
  world.jobs[0].spent = Dollars(1.995);
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
}

TEST(Schedule, SendsWhatWasInterruptedOftenToMachinesThatLast) {
  Snapshot world = World(2);
  world.pools[0].spot = true;
  world.pools.push_back(PoolOf("lasting"));
  world.machines.push_back(MachineOf(world.pools[1], 0));
  world.queues[0].pools = {"p", "lasting"};
  world.jobs = {JobOf(1, "q", 7)};
  world.jobs[0].worn_waiting = 2;
  EXPECT_EQ(PlanOf(world).rows, (std::vector<PlanRow>{{{1}, "p", 5, 0}, {{1}, "lasting", 2, 2}}));
  world.queues[0].pools = {"p"};  // there is no other: they run where they can
  EXPECT_EQ(PlanOf(world).rows, (std::vector<PlanRow>{{{1}, "p", 7, 0}}));
}

// Every queue has the pool of machines that come by themselves, and there may never be one.
TEST(Schedule, WhatWasInterruptedOftenDoesNotWaitForMachinesThatMayNeverCome) {
  Snapshot world = World(2);
  world.pools[0].spot = true;
  world.pools.push_back(PoolOf("lasting"));
  world.queues[0].pools = {"p", "lasting"};
  world.jobs = {JobOf(1, "q", 7)};
  world.jobs[0].worn_waiting = 2;
  const std::vector<PlanRow> anywhere = {{{1}, "p", 7, 0}};
  PlanPool& lasting = world.pools[1];
  EXPECT_NE(PlanOf(world).rows, anywhere) << "one could be ordered";
  lasting.provider_word.no_capacity_until = kNow + 3min;
  EXPECT_EQ(PlanOf(world).rows, anywhere);
  lasting.provider_word = {};
  lasting.never_joined = 3;
  EXPECT_EQ(PlanOf(world).rows, anywhere);
  lasting.never_joined = 0;
  lasting.max_price = 50;  // percent
  EXPECT_EQ(PlanOf(world).rows, anywhere);
  lasting.max_price.reset();
  lasting.provider.clear();
  EXPECT_EQ(PlanOf(world).rows, anywhere);
}

TEST(Schedule, UsesMachinesOfPoolsThatAllowIt) {
  Snapshot world = World(2);
  world.jobs = {JobOf(1, "q", 100)};
  world.jobs[0].labels = {{"zone", "a"}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
  world.pools[0].labels = {{"zone", "a"}, {"kind", "fast"}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 8);
  world.machines[0].state = MachineState::kDraining;
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 4);
  world.pools[0].disabled = true;
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
}

TEST(Schedule, FindsAPoolByItsName) {
  Snapshot world = World(2);
  world.jobs = {JobOf(1, "q", 100)};
  world.jobs[0].labels = {{"pool", "p"}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 8);
  world.jobs[0].labels = {{"pool", "r"}};
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 0);
  world.pools[0].labels = {{"pool", "r"}};  // which it says itself
  EXPECT_EQ(SlotsOf(PlanOf(world), 1), 8);
}

// The first pool is full of long items of job 1, which is far beyond its share there. Job 2 has its
// share there too, but must not wait while the second pool is idle.
TEST(Schedule, LeavesNoMachineIdleForTheSakeOfShares) {
  Snapshot world = World(5);
  world.queues[0].pools = {"p", "r"};
  world.pools.push_back(PoolOf("r"));
  for (PlanMachine& machine : world.machines) machine.leases = {{JobId{1}, 4, ""}};
  for (int i = 0; i < 5; ++i) world.machines.push_back(MachineOf(world.pools[1], i));
  world.jobs = {JobOf(1, "q", 0), JobOf(2, "q", 3)};
  EXPECT_EQ(SlotsOf(PlanOf(world), 2, "r"), 3);
}

TEST(Schedule, ReservesAMachineOnlyForWhatFitsIntoNoGap) {
  Snapshot world = World(2);
  world.jobs = {JobOf(1, "q", 1000), JobOf(2, "q", 10)};
  for (PlanMachine& machine : world.machines) machine.leases = {{JobId{1}, 4, ""}};
  EXPECT_TRUE(PlanOf(world).reserved.empty());
  world.machines[1].leases[0].slots = 3;
  world.jobs[1].need = {2000, kGiB};
  EXPECT_EQ(PlanOf(world).reserved, (std::vector<Reservation>{{"p-1", {2}}}));
  // The next plan stays with it, though the first one is as empty now.
  world.machines[1].reserved_for = JobId{2};
  world.machines[0].leases[0].slots = 3;
  EXPECT_EQ(PlanOf(world).reserved, (std::vector<Reservation>{{"p-1", {2}}}));
}

TEST(Schedule, SaysWhichJobsMayNotRun) {
  Snapshot world = World(2);
  for (int i = 1; i <= 4; ++i) world.jobs.push_back(JobOf(i, "q", 100));
  world.jobs[0].paused = "";
  world.jobs[1].after = {{77}};
  world.jobs[2].queue = "nowhere";
  EXPECT_EQ(PlanOf(world).rows, (std::vector<PlanRow>{{{4}, "p", 8, 0}}));
  world.queues[0].disabled = true;
  EXPECT_TRUE(PlanOf(world).rows.empty());
}

}  // namespace
}  // namespace tidemill
