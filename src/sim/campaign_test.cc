// SPDX-License-Identifier: Apache-2.0
#include "sim/campaign.h"

#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "sim/apart.h"

namespace tidemill {
namespace {

SimOutcome Good(std::uint64_t seed) {
  SimOutcome outcome;
  outcome.trace = seed;
  outcome.steps = seed;
  outcome.settlements = 2;
  outcome.faults = 3;
  outcome.machine_hours = 0.5;
  return outcome;
}

SimOutcome Bad() {
  SimOutcome outcome;
  outcome.verdict = SimVerdict::kLiveness;
  outcome.id = "L01";
  outcome.what = "job 1 has not ended";
  return outcome;
}

Campaign Seeds(std::uint64_t first, std::uint64_t count, int jobs) {
  Campaign campaign;
  campaign.first = first;
  campaign.count = count;
  campaign.jobs = jobs;
  campaign.clock = [] { return TimePoint(); };
  campaign.on_progress = [](const SimTotals&) {};
  return campaign;
}

TEST(Campaign, PlaysEachSeedOnceAndAddsUp) {
  for (const int jobs : {1, 3}) {
    const Result<CampaignEnd> end = PlaySeeds(Seeds(5, 10, jobs), Good);
    ASSERT_TRUE(end) << end.error().reason;
    EXPECT_FALSE(end->failure);
    EXPECT_EQ(end->totals.seeds, 10U);
    EXPECT_EQ(end->totals.steps, 5U + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14);
    EXPECT_EQ(end->totals.settlements, 20);
    EXPECT_EQ(end->totals.faults, 30);
    EXPECT_DOUBLE_EQ(end->totals.machine_hours, 5);
  }
}

TEST(Campaign, StopsAtTheFirstFailure) {
  const auto play = [](std::uint64_t seed) { return seed == 4 ? Bad() : Good(seed); };
  const Result<CampaignEnd> end = PlaySeeds(Seeds(1, 1'000'000, 1), play);
  ASSERT_TRUE(end);
  ASSERT_TRUE(end->failure);
  EXPECT_EQ(end->failure->seed, 4U);
  EXPECT_EQ(end->failure->outcome.verdict, SimVerdict::kLiveness);
  EXPECT_EQ(end->failure->outcome.id, "L01");
  EXPECT_EQ(end->failure->outcome.what, "job 1 has not ended");
  EXPECT_EQ(end->totals.seeds, 3U);
}

TEST(Campaign, AFailureEndsThoseBesideIt) {
  // The other one would never end.
  const auto play = [](std::uint64_t seed) {
    while (seed == 1) pause();
    return Bad();
  };
  const Result<CampaignEnd> end = PlaySeeds(Seeds(1, 2, 2), play);
  ASSERT_TRUE(end);
  ASSERT_TRUE(end->failure);
  EXPECT_EQ(end->failure->seed, 2U);
}

TEST(Campaign, TakesARunThatAbortsForAFailure) {
  const auto play = [](std::uint64_t seed) {
    if (seed == 2) std::abort();
    return Good(seed);
  };
  const Result<CampaignEnd> end = PlaySeeds(Seeds(1, 9, 1), play);
  ASSERT_TRUE(end);
  ASSERT_TRUE(end->failure);
  EXPECT_EQ(end->failure->seed, 2U);
  EXPECT_EQ(end->failure->outcome.verdict, SimVerdict::kSafety);
  EXPECT_EQ(end->failure->outcome.id, "abort");
  EXPECT_EQ(end->failure->outcome.what, "the program was ended by a signal: Aborted");
}

TEST(Campaign, BeginsNoSeedWhenItsTimeIsOver) {
  Campaign campaign = Seeds(1, 0, 1);
  campaign.count.reset();
  campaign.time = std::chrono::seconds(60);
  int asked = 0;
  campaign.clock = [&] { return TimePoint(std::chrono::seconds(asked++)); };
  const Result<CampaignEnd> end = PlaySeeds(campaign, Good);
  ASSERT_TRUE(end);
  EXPECT_GT(end->totals.seeds, 5U);
  EXPECT_LT(end->totals.seeds, 60U);
}

TEST(Campaign, GivesARunUpThatTakesTooLong) {
  Campaign campaign = Seeds(1, 1, 1);
  int asked = 0;
  campaign.clock = [&] { return TimePoint(kRunTime * asked++); };
  const auto play = [](std::uint64_t) -> SimOutcome {
    while (true) pause();
  };
  const Result<CampaignEnd> end = PlaySeeds(campaign, play);
  ASSERT_TRUE(end);
  ASSERT_TRUE(end->failure);
  EXPECT_EQ(end->failure->outcome.verdict, SimVerdict::kLiveness);
  EXPECT_EQ(end->failure->outcome.id, "stuck");
}

TEST(Campaign, RunsApartFromTheCaller) {
  int changed = 0;
  const SimOutcome outcome = PlayApart([&] {
    changed = 1;
    SimOutcome bad = Bad();
    bad.what = std::string(100'000, 'x');
    return bad;
  });
  EXPECT_EQ(outcome.id, "L01");
  EXPECT_EQ(outcome.what, std::string(4000, 'x'));
  EXPECT_EQ(changed, 0);
  EXPECT_EQ(PlayApart([]() -> SimOutcome { std::abort(); }).id, "abort");
  EXPECT_EQ(PlayApart([]() -> SimOutcome { _exit(0); }).id, "abort");
  const auto for_ever = []() -> SimOutcome {
    while (true) pause();
  };
  EXPECT_EQ(PlayApart(for_ever, std::chrono::milliseconds(10)).id, "stuck");
}

TEST(Campaign, FindsAPlanThatIsNotTheSameTwice) {
  std::uint64_t runs = 0;
  EXPECT_EQ(PlayTwice({}, [&](const SimPlan&) { return Good(7); }).verdict, SimVerdict::kGood);
  EXPECT_EQ(PlayTwice({}, [&](const SimPlan&) { return Good(++runs); }).id, "S26");
  EXPECT_EQ(PlayTwice({}, [&](const SimPlan&) { return Bad(); }).id, "L01");
}

}  // namespace
}  // namespace tidemill
