// SPDX-License-Identifier: Apache-2.0
#include "sim/shrink.h"

#include <cstdint>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "sim/plan_json.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

SimPlan LargePlan() {
  SimPlan plan;
  plan.seed = 7;
  plan.servers = 5;
  plan.agents = 12;
  plan.machines = 6;
  plan.pools.resize(3);
  plan.pools[0].max = 40;
  plan.pools[1].millicpus = 4000;
  plan.pools[2].min = 1;
  for (int i = 0; i < 4; ++i) {
    PlannedJob& job = plan.jobs.emplace_back();
    job.parts = {i + 1, 60, 17, 33};
    job.retries = i;
    job.begins = milliseconds(1234) * i;
    job.memory_bytes = i % 2 == 0 ? 0 : 64 << 20;
    job.memory_max = job.memory_bytes * 2;
  }
  plan.script.seed = 7;
  plan.script.join_token = "token";
  plan.script.shape = {4000, 8LL << 30};
  plan.script.lies = 0.3;
  plan.script.vanishes = 0.1;
  plan.script.item_ms = 7;
  plan.limits.session_life = plan.script.session_life = seconds(6);
  plan.script.heartbeat = seconds(1);
  plan.limits.batches_in_flight = 3;
  plan.limits.reap_every = milliseconds(321);
  plan.faults.store = {0.05, 0.07};
  plan.faults.network = {0.1, 0.2, 0.3, 0.01};
  plan.faults.machine.crash = 0.01;
  plan.faults.cloud.listing_late = seconds(3);
  plan.faults.server_crash = 0.02;
  plan.faults.person = 0.03;
  plan.chaos = seconds(300);
  return plan;
}

// What is left of LargePlan if nothing of it matters.
SimPlan LeastPlan() {
  SimPlan plan;
  plan.seed = 7;
  plan.servers = 1;
  plan.agents = 1;
  plan.jobs.resize(1);
  plan.jobs[0].parts = {1};
  plan.script.seed = 7;
  plan.script.join_token = "token";
  plan.script.shape = {4000, 8LL << 30};
  return plan;
}

SimOutcome Broken(const std::string& id) {
  SimOutcome outcome;
  outcome.verdict = SimVerdict::kSafety;
  outcome.id = id;
  return outcome;
}

ShrinkLimits Limits(int runs = 200) {
  ShrinkLimits limits;
  limits.runs = runs;
  limits.clock = [] { return TimePoint(); };
  return limits;
}

bool HasItems(const SimPlan& plan, int least) {
  for (const PlannedJob& job : plan.jobs) {
    if (std::accumulate(job.parts.begin(), job.parts.end(), 0) >= least) return true;
  }
  return false;
}

TEST(Shrink, EndsWithTheLeastPlanThatStillFails) {
  int runs = 0;
  const auto play = [&](const SimPlan& plan) {
    ++runs;
    const bool fails = plan.faults.store.unknown > 0 && plan.servers >= 2 && HasItems(plan, 3);
    return fails ? Broken("S04") : SimOutcome();
  };
  SimPlan wanted = LeastPlan();
  wanted.faults.store.unknown = 0.07;
  wanted.servers = 2;
  wanted.jobs[0].parts = {3};
  const SimPlan least = Shrink(LargePlan(), "S04", play, Limits());
  EXPECT_TRUE(least == wanted) << FormatPlan(least);
  EXPECT_LE(runs, 100);
}

TEST(Shrink, FindsWhatMattersInPoolsKnobsAndTime) {
  const auto play = [](const SimPlan& plan) {
    const bool fails = plan.pools.size() >= 2 && plan.pools[0].max >= 5 &&
                       plan.limits.reap_every < seconds(1) && plan.chaos >= seconds(100) &&
                       plan.jobs.size() >= 2 && plan.script.vanishes > 0;
    return fails ? Broken("L03") : SimOutcome();
  };
  SimPlan wanted = LeastPlan();
  wanted.agents = 0;
  wanted.pools.resize(2);
  wanted.pools[0].max = 5;
  wanted.limits.reap_every = milliseconds(321);
  wanted.jobs.resize(2);
  wanted.jobs[1].parts = {1};
  wanted.script.vanishes = 0.1;
  SimPlan least = Shrink(LargePlan(), "L03", play, Limits());
  EXPECT_GE(least.chaos, seconds(100));
  EXPECT_LE(least.chaos, seconds(102));
  least.chaos = {};
  EXPECT_TRUE(least == wanted) << FormatPlan(least);
}

TEST(Shrink, KeepsAPlanOnlyIfTheSameInvariantIsBroken) {
  // Without faults something else is wrong, and with few agents nothing.
  const auto play = [](const SimPlan& plan) {
    if (plan.faults == Faults()) return Broken("S08");
    return plan.agents >= 4 ? Broken("S04") : SimOutcome();
  };
  const SimPlan least = Shrink(LargePlan(), "S04", play, Limits());
  EXPECT_EQ(play(least).id, "S04");
  EXPECT_EQ(least.agents, 4);
}

TEST(Shrink, PlaysOnlyFairPlansAndNoneTwice) {
  std::set<std::string> seen;
  Shrink(
      LargePlan(), "S04",
      [&](const SimPlan& plan) {
        EXPECT_TRUE(IsFair(plan)) << FormatPlan(plan);
        EXPECT_EQ(plan.script.join_token, "token");
        EXPECT_TRUE(seen.insert(FormatPlan(plan)).second) << FormatPlan(plan);
        return plan.script.lies > 0 ? Broken("S04") : SimOutcome();
      },
      Limits());
  EXPECT_GT(seen.size(), 10U);
}

TEST(Shrink, LeavesEnoughMachinesForTheWork) {
  SimPlan large = LargePlan();
  large.agents = 0;
  for (PlannedJob& job : large.jobs) job.item_ms = 900'000;
  // 450 items on 69 slots are 98 minutes each; for 100 items that takes 16 slots, 4 machines.
  const auto play = [](const SimPlan& plan) {
    return HasItems(plan, 100) && plan.jobs[0].item_ms > 1000 ? Broken("L01") : SimOutcome();
  };
  const SimPlan least = Shrink(large, "L01", play, Limits());
  EXPECT_EQ(least.jobs.size(), 1U);
  EXPECT_TRUE(least.pools.empty());
  EXPECT_EQ(least.machines, 4) << FormatPlan(least);
}

TEST(Shrink, StopsAtItsLimits) {
  int runs = 0;
  const auto play = [&](const SimPlan&) {
    ++runs;
    return SimOutcome();
  };
  EXPECT_TRUE(Shrink(LargePlan(), "S04", play, Limits(9)) == LargePlan());
  EXPECT_EQ(runs, 9);

  runs = 0;
  ShrinkLimits limits = Limits();
  limits.time = seconds(60);
  limits.clock = [&] { return TimePoint(seconds(runs * 10)); };
  Shrink(LargePlan(), "S04", play, limits);
  EXPECT_EQ(runs, 6);
}

TEST(Shrink, SaysWhatWasTakenAwayAndWhatIsLeft) {
  SimPlan small = LeastPlan();
  small.faults.store.unknown = 0.07;
  small.script.lies = 0.3;
  small.chaos = seconds(10);
  EXPECT_EQ(DescribeShrink(LargePlan(), small),
            "servers 5 -> 1, agents 12 -> 1, machines 6 -> 0, pools 3 -> 0, jobs 4 -> 1, "
            "items 450 -> 1, seconds of faults 300 -> 10; faults left: store.unknown, "
            "script.lies");
  EXPECT_EQ(DescribeShrink(LeastPlan(), LeastPlan()), "no fewer parties; faults left: none");
}

TEST(Shrink, TakesEachSeedsPlanForAFairOne) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) EXPECT_TRUE(IsFair(DrawPlan(seed))) << seed;
}

}  // namespace
}  // namespace tidemill
