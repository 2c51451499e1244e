// SPDX-License-Identifier: Apache-2.0
#include "rehearse/rehearsal.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::seconds;

// 40 items of 10 s on at most two machines of two slots; a second of a machine is a tenth of a
// cent.
Rehearsal Small() {
  Rehearsal rehearsal;
  rehearsal.spec.name = "small";
  rehearsal.spec.retries = 2;
  rehearsal.items = 40;
  rehearsal.lengths = *DurationSpread::Parse("10s");
  PlayedPool pool = *ParsePlayedPool("name=spot,cpus=2,max=2,price=3.6,boot=20s,idle=1m,spot");
  rehearsal.pools.push_back(pool);
  return rehearsal;
}

Rehearsed Played(const Rehearsal& rehearsal) {
  const auto run = Rehearse(rehearsal);
  EXPECT_TRUE(run) << run.error().reason;
  return run.value_or(Rehearsed{});
}

TEST(Rehearsal, TakesWhatItsItemsAndMachinesTake) {
  const Rehearsed run = Played(Small());
  EXPECT_EQ(run.succeeded, 40);
  EXPECT_EQ(run.failed, 0);
  EXPECT_EQ(run.machines, 2);
  EXPECT_EQ(run.most_machines, 2);
  EXPECT_EQ(run.slots, 4);
  EXPECT_EQ(run.ideal, seconds(100));
  EXPECT_EQ(run.bound, seconds(100));
  EXPECT_EQ(run.useful, seconds(200));
  // 20 s to boot, then ten rounds of items. A container takes 0.3 s, and between two items of a
  // slot there are a sync of at most 0.1 s and the 0.05 s between two syncs; the job's end is seen
  // within a second.
  EXPECT_GE(run.time, seconds(120));
  EXPECT_LE(run.time, seconds(124));
}

TEST(Rehearsal, CostsWhatItsMachinesCost) {
  const Rehearsed run = Played(Small());
  // Both boot for 20 s, have work for 100 s, plus what is said above, are idle for a minute and
  // then need a second to end. What a machine does is put down every 5 s for the time since the
  // last.
  const double put_down = 2 * 5;
  EXPECT_NEAR(static_cast<double>(run.boot.time.count()) / 1e6, 40, 4);
  EXPECT_NEAR(static_cast<double>(run.work.time.count()) / 1e6, 203, 2 + put_down);
  EXPECT_NEAR(static_cast<double>(run.idle.time.count()) / 1e6, 124, 4 + put_down);
  EXPECT_EQ(run.lost.time, Duration::zero());
  const Duration all = run.boot.time + run.joined_time();
  EXPECT_NEAR(static_cast<double>(run.cost().micros), static_cast<double>(all.count()) / 1000, 10);
}

TEST(Rehearsal, TheSameSeedIsTheSameRun) {
  Rehearsal rehearsal = Small();
  rehearsal.lengths = *DurationSpread::Parse("lognormal(10s, 1)");
  rehearsal.interrupted = 0.9;
  const Rehearsed run = Played(rehearsal);
  EXPECT_EQ(run, Played(rehearsal));
  EXPECT_GT(run.ideal, run.bound);
  rehearsal.seed = 2;
  EXPECT_NE(run.time, Played(rehearsal).time);
}

TEST(Rehearsal, WhatIsTakenAwayIsLostAndDoneAgain) {
  Rehearsal rehearsal = Small();
  rehearsal.lengths = *DurationSpread::Parse("60s");
  rehearsal.items = 12;
  const Rehearsed calm = Played(rehearsal);
  rehearsal.losses = {{seconds(120), 1, "spot"}};
  const Rehearsed told = Played(rehearsal);
  EXPECT_EQ(told.interruptions, 1);
  EXPECT_EQ(told.succeeded, 12);
  EXPECT_GT(told.lost.time, seconds(10));
  EXPECT_GT(told.time, calm.time);
  // Of a machine that goes without a word nobody hears for a minute.
  rehearsal.notice = {};
  const Rehearsed untold = Played(rehearsal);
  EXPECT_EQ(untold.succeeded, 12);
  EXPECT_GT(untold.time, told.time);
}

TEST(Rehearsal, OnlySpotMachinesAreTakenAway) {
  Rehearsal rehearsal = Small();
  rehearsal.pools[0].machines.spot = false;
  rehearsal.losses = {{seconds(60), 2, ""}};
  EXPECT_EQ(Played(rehearsal).interruptions, 0);
}

TEST(Rehearsal, ItemsFailAndAreTriedAgain) {
  Rehearsal rehearsal = Small();
  rehearsal.failing = 0.3;
  const Rehearsed tried = Played(rehearsal);
  EXPECT_EQ(tried.succeeded + tried.failed, 40);
  EXPECT_GT(tried.time, Played(Small()).time);
  rehearsal.spec.retries = 0;
  EXPECT_GT(Played(rehearsal).failed, 3);
}

TEST(Rehearsal, AnItemBeyondItsTimeoutFails) {
  Rehearsal rehearsal = Small();
  rehearsal.lengths = *DurationSpread::Parse("uniform(1s, 20s)");
  rehearsal.spec.retries = 0;
  rehearsal.spec.document = R"({"timeout":"10s"})";
  EXPECT_GT(Played(rehearsal).failed, 5);
}

TEST(Rehearsal, WhatTheSpecLimitsIsLimited) {
  Rehearsal rehearsal = Small();
  rehearsal.spec.wishes.max_parallel = 1;
  const Rehearsed run = Played(rehearsal);
  EXPECT_EQ(run.slots, 1);
  EXPECT_GE(run.time, seconds(400));
  EXPECT_EQ(run.ideal, seconds(400));
}

TEST(Rehearsal, APoolThatKeepsMachinesEndsThemAfterTheJob) {
  Rehearsal rehearsal = Small();
  rehearsal.pools[0].machines.min = 1;
  EXPECT_EQ(Played(rehearsal).machines, 2);
}

TEST(Rehearsal, SaysWhyItCannotEnd) {
  const auto why_not = [](const Rehearsal& rehearsal) {
    const auto run = Rehearse(rehearsal);
    return run ? std::string() : run.error().reason;
  };
  Rehearsal rehearsal = Small();
  rehearsal.spec.resources.millicpus = 3000;
  EXPECT_NE(why_not(rehearsal).find("large enough"), std::string::npos);
  rehearsal = Small();
  rehearsal.spec.wishes.labels = {{"arch", "arm64"}};
  EXPECT_NE(why_not(rehearsal).find("it would not end: "), std::string::npos);
  EXPECT_NE(why_not(rehearsal).find("arch"), std::string::npos) << why_not(rehearsal);
  rehearsal = Small();
  rehearsal.spec.wishes.budget = Money{1000};
  EXPECT_NE(why_not(rehearsal).find("budget"), std::string::npos) << why_not(rehearsal);
  rehearsal = Small();
  rehearsal.failing = 1;
  EXPECT_NE(why_not(rehearsal).find("paused"), std::string::npos) << why_not(rehearsal);
  rehearsal.pools.clear();
  EXPECT_NE(why_not(rehearsal).find("no pool"), std::string::npos);
}

TEST(Rehearsal, EndsWhenItIsTold) {
  Duration at{};
  const auto run = Rehearse(Small(), [&](Duration now, std::int64_t) {
    at = now;
    return now < seconds(50);
  });
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Code::kUnavailable);
  EXPECT_LT(at, seconds(51));
}

}  // namespace
}  // namespace tidemill
