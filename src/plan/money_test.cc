// SPDX-License-Identifier: Apache-2.0
#include "plan/money.h"

#include <chrono>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "plan/forecast.h"
#include "plan/plan_test.h"

namespace tidemill {
namespace {

using namespace std::chrono_literals;
using plan_test::Dollars;
using plan_test::JobOf;
using plan_test::kGiB;
using plan_test::kNow;
using plan_test::MachineOf;
using plan_test::RandomSnapshot;
using plan_test::Takes;
using plan_test::World;

// One machine of 4 cpus that costs 0.36 $ an hour, a hundred micro-dollars a second, for an hour.
Snapshot OneMachine() {
  Snapshot world = World(1);
  world.machines[0].price = Dollars(0.36);
  world.machines[0].billed_from = kNow - 1h;
  world.machines[0].joined = kNow - 59min;
  world.jobs = {JobOf(1, "q", 10), JobOf(2, "q", 10), JobOf(3, "q", 10)};
  return world;
}

std::vector<Entry> Put(const Snapshot& world, TimePoint from, TimePoint to) {
  return PutDown(SnapshotIndex(world), 0, from, to);
}

TEST(SplitExactly, GivesWhatIsLeftToTheLargestRemainders) {
  EXPECT_EQ(SplitExactly(10, {1, 1, 1}), (std::vector<std::int64_t>{4, 3, 3}));
  EXPECT_EQ(SplitExactly(10, {1, 2, 4}), (std::vector<std::int64_t>{1, 3, 6}));
  EXPECT_EQ(SplitExactly(0, {1, 2}), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(SplitExactly(7, {0, 0}), (std::vector<std::int64_t>{7, 0}));
  EXPECT_EQ(SplitExactly(7, {0, 5}), (std::vector<std::int64_t>{0, 7}));
}

RC_GTEST_PROP(SplitExactly, AddsUpAndIsNowhereFurtherThanOneFromTheExactPart,
              (std::uint32_t seed)) {
  std::mt19937_64 dice(seed);
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int64_t> weights(1 + dice() % 9);
    for (auto& weight : weights) weight = static_cast<std::int64_t>(dice() % 100'000'000'000);
    const auto total = static_cast<std::int64_t>(dice() % 1'000'000'000'000);
    const auto parts = SplitExactly(total, weights);
    RC_ASSERT(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) == total);
    const auto sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    for (std::size_t w = 0; w < weights.size() && sum > 0; ++w) {
      const std::int64_t exact = MulDiv(total, weights[w], sum);
      RC_ASSERT(parts[w] == exact || parts[w] == exact + 1);
    }
  }
}

TEST(PutDown, GivesTheWholeMachineToTheJobsOnIt) {
  Snapshot world = OneMachine();
  world.jobs[1].need = {500, 8 * kGiB};  // half of the memory
  world.machines[0].leases = {{JobId{1}, 1, ""}, {JobId{2}, 1, ""}};
  // A quarter and a half of the machine are used: a third and two thirds of 1,000 are put down.
  EXPECT_EQ(Put(world, kNow - 10s, kNow),
            (std::vector<Entry>{{Account::kJob, {1}, Duration(3'333'333us), {333}},
                                {Account::kJob, {2}, Duration(6'666'667us), {667}}}));
}

TEST(PutDown, TellsBootWorkAndIdleApart) {
  Snapshot world = OneMachine();
  EXPECT_EQ(Put(world, kNow - 1h, kNow),
            (std::vector<Entry>{{Account::kBoot, {}, 1min, {6'000}},
                                {Account::kIdle, {}, 59min, {354'000}}}));
  world.machines[0].leases = {{JobId{3}, 2, ""}};
  EXPECT_EQ(Put(world, kNow - 5s, kNow), (std::vector<Entry>{{Account::kJob, {3}, 5s, {500}}}));
  world.machines[0].joined.reset();
  EXPECT_EQ(Put(world, kNow - 5s, kNow), (std::vector<Entry>{{Account::kBoot, {}, 5s, {500}}}));
}

TEST(PutDown, BillsFromTheStartToTheEndAndAtLeastAMinute) {
  Snapshot world = OneMachine();
  PlanMachine& machine = world.machines[0];
  EXPECT_TRUE(Put(world, kNow - 2h, kNow - 1h).empty());
  machine.billed_from = kNow - 20s;
  machine.joined = kNow - 19s;
  machine.state = MachineState::kGone;
  machine.since = kNow - 10s;
  EXPECT_EQ(BillUntil(machine, kNow, 1min), Money{6'000});
  // Ten seconds were used, and the rest of the minute is billed right after them.
  EXPECT_EQ(Put(world, kNow - 1h, kNow), (std::vector<Entry>{{Account::kBoot, {}, 1s, {100}},
                                                             {Account::kIdle, {}, 9s, {5'900}}}));
  EXPECT_EQ(Put(world, kNow - 10s, kNow),
            (std::vector<Entry>{{Account::kIdle, {}, Duration(0), {5'000}}}));
  EXPECT_TRUE(Put(world, kNow - 9s, kNow + 1h).empty());
}

TEST(PutDown, BillsTheMinimumOfThePool) {
  Snapshot world = OneMachine();
  PlanMachine& machine = world.machines[0];
  machine.billed_from = kNow - 20s;
  machine.joined = kNow - 20s;
  machine.state = MachineState::kGone;
  machine.since = kNow - 10s;
  world.pools[0].billed_at_least = 10min;
  EXPECT_EQ(Put(world, kNow - 1h, kNow), (std::vector<Entry>{{Account::kIdle, {}, 10s, {60'000}}}));
  world.pools[0].billed_at_least = 0s;
  EXPECT_EQ(Put(world, kNow - 1h, kNow), (std::vector<Entry>{{Account::kIdle, {}, 10s, {1'000}}}));
  machine.pool = "dropped";  // then the default counts
  EXPECT_EQ(Put(world, kNow - 1h, kNow), (std::vector<Entry>{{Account::kIdle, {}, 10s, {6'000}}}));
}

// However a machine's life is cut, and whatever it did: all of it is put down once.
RC_GTEST_PROP(PutDown, AddsUpToTheBill, (std::uint32_t seed)) {
  std::mt19937 dice(seed);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Snapshot world = RandomSnapshot(seed + i);
    const SnapshotIndex index(world);
    for (std::size_t m = 0; m < world.machines.size(); ++m) {
      const TimePoint begin = kNow - 1300s;
      TimePoint at = begin;
      Money sum;
      Duration time{};
      while (at < kNow) {
        const TimePoint next = std::min(at + Duration(1 + dice() % 100'000'000), kNow);
        for (const Entry& entry : PutDown(index, m, at, next)) {
          RC_ASSERT(entry.amount.micros >= 0);
          RC_ASSERT(entry.time >= Duration(0));
          sum += entry.amount;
          time += entry.time;
        }
        at = next;
      }
      const PlanMachine& machine = world.machines[m];
      const PlanPool& pool = world.pools[*index.FindPool(machine.pool)];
      RC_ASSERT(sum == BillUntil(machine, kNow, pool.billed_at_least));
      const TimePoint end = machine.state == MachineState::kGone ? machine.since : kNow;
      RC_ASSERT(time == std::max(end - machine.billed_from, Duration(0)));
    }
  }
}

TEST(MoveLost, MovesAndAddsNothing) {
  const Entry put_down{Account::kJob, {1}, 100s, {10'000}};
  EXPECT_EQ(MoveLost({1}, {.all = 400s, .lost = 100s}, put_down),
            (std::vector<Entry>{{Account::kJob, {1}, -25s, {-2'500}},
                                {Account::kLost, {1}, 25s, {2'500}}}));
  EXPECT_TRUE(MoveLost({1}, {.all = 400s, .lost = 0s}, put_down).empty());
  EXPECT_TRUE(MoveLost({1}, {.all = 0s, .lost = 9s}, put_down).empty());
  // No more than there was.
  EXPECT_EQ(MoveLost({1}, {.all = 10s, .lost = 99s}, put_down)[1].amount, Money{10'000});
}

std::optional<Forecast> ForecastFor(const Snapshot& world) {
  const SnapshotIndex index(world);
  const Plan plan = MakePlan(index, kNow);
  return ForecastOf(index, plan, Autoscale(index, kNow), 0);
}

TEST(Forecast, SaysHowLongAndHowMuch) {
  Snapshot world = World(25);  // 100 slots of 0.10 $ an hour
  world.pools[0].max = 25;
  world.jobs = {JobOf(1, "q", 36'000)};
  world.jobs[0].times = Takes(100s);
  world.jobs[0].spent = Dollars(1);
  const auto forecast = ForecastFor(world);
  ASSERT_TRUE(forecast);
  // 3,600,000 s are 1,000 hours of a slot.
  EXPECT_EQ(forecast->slots, 100);
  EXPECT_EQ(forecast->time, Duration(10h));
  EXPECT_EQ(forecast->cost, Dollars(101));
  EXPECT_EQ(forecast->least, forecast->time);
  EXPECT_EQ(forecast->most, forecast->time);
}

TEST(Forecast, HasARangeFromWhatWasMeasured) {
  Snapshot world = World(25);
  world.pools[0].max = 25;
  world.jobs = {JobOf(1, "q", 10'000)};
  world.jobs[0].times = Takes(100s, 50s);  // of 100 items: the mean is known to 5 s
  const auto forecast = ForecastFor(world);
  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->time, Duration(10'000s));
  // Twice 5 s of 100 s, and a little for the sum; one item of two deviations at the end.
  EXPECT_NEAR(static_cast<double>(forecast->least.count()) / 1e6, 8'995, 1);
  EXPECT_NEAR(static_cast<double>(forecast->most.count()) / 1e6, 11'005 + 100, 1);
  EXPECT_NEAR(static_cast<double>(forecast->cost_most.micros - forecast->cost.micros),
              0.1005 * static_cast<double>(forecast->cost.micros), 10'000);
}

TEST(Forecast, ReckonsWithMachinesOnTheirWay) {
  Snapshot world = World(1);
  world.pools[0].max = 10;
  world.machines.push_back(MachineOf(world.pools[0], 1, MachineState::kBooting));
  world.pools[0].next_number = 2;
  world.jobs = {JobOf(1, "q", 4'000)};
  world.jobs[0].times = Takes(60s);
  EXPECT_EQ(ForecastFor(world)->slots, 40);
  world.jobs[0].max_parallel = 6;
  EXPECT_EQ(ForecastFor(world)->slots, 6);
  EXPECT_EQ(ForecastFor(world)->time, Duration(40'000s));
}

TEST(Forecast, SaysNothingWithoutMeasuresSlotsOrItems) {
  Snapshot world = World(1);
  world.jobs = {JobOf(1, "q", 100)};
  EXPECT_FALSE(ForecastFor(world));
  world.jobs[0].times = Takes(60s);
  EXPECT_TRUE(ForecastFor(world));
  world.jobs[0].paused = "";
  EXPECT_FALSE(ForecastFor(world));
  world.jobs[0].paused.reset();
  world.jobs[0].waiting = 0;
  EXPECT_FALSE(ForecastFor(world));
}

}  // namespace
}  // namespace tidemill
