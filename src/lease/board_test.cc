// SPDX-License-Identifier: Apache-2.0
#include "lease/board.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

const Resources kBoardJobNeeds{1000, 0};
const Resources kBoardMachine{4000, 8LL << 30};

BoardJob JobWith(std::int64_t number, std::int64_t free_items,
                 Resources resources = kBoardJobNeeds) {
  BoardJob job;
  job.id = {number};
  job.project = "p";
  job.resources = std::move(resources);
  job.free_items = free_items;
  return job;
}

BoardJob OnTrial(std::int64_t number, int trial) {
  BoardJob job = JobWith(number, 1000);
  job.trial = trial;
  return job;
}

class JobBoardTest : public ::testing::Test {
 protected:
  std::vector<Ask> Asks() { return board_.AsksFor({.project = "p"}, {kBoardMachine}, 1, random_); }

  SeededRandom random_{1};
  JobBoard board_;
};

TEST_F(JobBoardTest, AsksForNothingWhenThereIsNothing) {
  EXPECT_TRUE(Asks().empty());
  EXPECT_FALSE(board_.Fits({.project = "p"}, {kBoardMachine}));
}

TEST_F(JobBoardTest, LetsJobsTakeTurns) {
  board_.SetJobs({JobWith(1, 100), JobWith(2, 100), JobWith(3, 100)});
  std::set<std::int64_t> first;
  for (int i = 0; i < 3; ++i) first.insert(Asks().front().job.number);
  EXPECT_EQ(first, (std::set<std::int64_t>{1, 2, 3}));
}

TEST_F(JobBoardTest, TriesAFewJobsInTurnForOneAgent) {
  std::vector<BoardJob> jobs;
  for (int i = 1; i <= 10; ++i) jobs.push_back(JobWith(i, 100));
  board_.SetJobs(jobs);
  EXPECT_EQ(Asks().size(), 4u);
}

TEST_F(JobBoardTest, PassesOverJobsThatDoNotFit) {
  board_.SetJobs(
      {JobWith(1, 100, {8000, 0}), JobWith(2, 100, {1000, 16LL << 30}), JobWith(3, 100)});
  for (int i = 0; i < 5; ++i) {
    const std::vector<Ask> asks = Asks();
    ASSERT_EQ(asks.size(), 1u);
    EXPECT_EQ(asks[0].job, JobId{3});
  }
}

TEST_F(JobBoardTest, DoesNotAskForADryJobBeforeTheNextLook) {
  board_.SetJobs({JobWith(1, 100)});
  board_.MarkDry(JobId{1});
  EXPECT_FALSE(board_.Fits({.project = "p"}, {kBoardMachine}));
  EXPECT_TRUE(Asks().empty());
  EXPECT_EQ(board_.free_items(), 0);
  board_.SetJobs({JobWith(1, 100)});
  EXPECT_TRUE(board_.Fits({.project = "p"}, {kBoardMachine}));
}

TEST_F(JobBoardTest, SizesLeasesByWhatItemsHaveTaken) {
  board_.SetJobs({JobWith(1, 100'000)});
  EXPECT_EQ(Asks()[0].max_items, 4);
  board_.Measure("p", JobId{1}, 100, 100'000);
  EXPECT_EQ(Asks()[0].max_items, 60);
}

TEST_F(JobBoardTest, BelievesNoTimesOfOtherProjectsAgents) {
  board_.SetJobs({JobWith(1, 100'000)});
  board_.Measure("q", JobId{1}, 100, 0);
  board_.Measure("", JobId{1}, 100, 0);
  EXPECT_EQ(Asks()[0].max_items, 4);
}

TEST_F(JobBoardTest, CountsDownWhatItHasGranted) {
  board_.SetJobs({JobWith(1, 100)});
  board_.Granted(JobId{1}, 97);
  EXPECT_EQ(board_.free_items(), 3);
  EXPECT_EQ(Asks()[0].max_items, 3);
  board_.Granted(JobId{1}, 97);
  EXPECT_EQ(board_.free_items(), 0);
}

TEST_F(JobBoardTest, LooksOnFromTheCursorAndFromTheStartAfterEachLook) {
  board_.SetJobs({JobWith(1, 100)});
  EXPECT_EQ(board_.cursor(JobId{1}), 0);
  board_.SetCursor(JobId{1}, 7);
  EXPECT_EQ(board_.cursor(JobId{1}), 7);
  board_.SetJobs({JobWith(1, 100)});
  EXPECT_EQ(board_.cursor(JobId{1}), 0);
}

TEST_F(JobBoardTest, RemembersHowLongItemsTakeWhileTheJobIsThere) {
  board_.SetJobs({JobWith(1, 100'000)});
  board_.Measure("p", JobId{1}, 100, 100'000);
  board_.Measure("p", JobId{2}, 100, 100'000);
  board_.SetJobs({JobWith(1, 100'000), JobWith(2, 100'000)});
  std::map<std::int64_t, int> sizes;
  for (const Ask& ask : Asks()) sizes[ask.job.number] = ask.max_items;
  EXPECT_EQ(sizes, (std::map<std::int64_t, int>{{1, 60}, {2, 4}}));
}

TEST_F(JobBoardTest, AsksWithWhatAnItemGetsAndWhatItCouldGet) {
  board_.SetJobs({JobWith(1, 100, {1000, 1LL << 30})});
  const Ask ask = Asks().at(0);
  EXPECT_EQ(ask.memory_bytes, 1LL << 30);
  EXPECT_EQ(ask.room_bytes, 8LL << 30);
  board_.RaiseMemory({1}, 4LL << 30);
  board_.RaiseMemory({1}, 2LL << 30);
  EXPECT_EQ(Asks().at(0).memory_bytes, 4LL << 30);
  EXPECT_EQ(Asks().at(0).max_items, 2);
}

TEST_F(JobBoardTest, PassesOverJobsWhoseDevicesAreNotThere) {
  board_.SetJobs({JobWith(1, 100, {1000, 0, {{"gpu", 2}}})});
  EXPECT_TRUE(Asks().empty());
  EXPECT_TRUE(board_.HasWork("p"));
  EXPECT_FALSE(board_.HasWork("q"));
  Resources free = kBoardMachine;
  free.devices = {{"gpu", 5}};
  EXPECT_EQ(board_.AsksFor({.project = "p"}, {free}, 1, random_).at(0).max_items, 2);
}

TEST_F(JobBoardTest, OfAJobOnTrialASlotHasOneItemHoweverShortTheyAre) {
  board_.SetJobs({OnTrial(1, 20)});
  board_.Measure("p", JobId{1}, 100, 1000);
  EXPECT_EQ(Asks().at(0).max_items, 4);
  board_.SetPassed({1}, true);
  EXPECT_GT(Asks().at(0).max_items, 4);
}

TEST_F(JobBoardTest, AJobThatHasPassedIsNotHeldBackByAnOlderLook) {
  board_.SetJobs({OnTrial(1, 20)});
  board_.Measure("p", JobId{1}, 100, 1000);
  board_.SetPassed({1}, true);
  board_.SetJobs({OnTrial(1, 20)});
  EXPECT_GT(Asks().at(0).max_items, 4);
  board_.SetPassed({1}, false);
  board_.SetJobs({OnTrial(1, 20)});
  EXPECT_EQ(Asks().at(0).max_items, 4);
}

TEST_F(JobBoardTest, FindsAJobUntilTheSecondLookWithoutIt) {
  board_.SetJobs({JobWith(1, 1)});
  board_.SetJobs({JobWith(2, 1)});
  EXPECT_NE(board_.FindJob({1}), nullptr);
  board_.SetJobs({JobWith(2, 1)});
  EXPECT_EQ(board_.FindJob({1}), nullptr);
}

TEST_F(JobBoardTest, GivesEveryAskALeaseIdOfItsOwn) {
  board_.SetJobs({JobWith(1, 100), JobWith(2, 100)});
  std::set<LeaseId> ids;
  for (int i = 0; i < 50; ++i) {
    for (const Ask& ask : Asks()) ids.insert(ask.lease);
  }
  EXPECT_EQ(ids.size(), 100u);
}

TEST_F(JobBoardTest, ItemsThatWereInterruptedOftenGoWhereThePlanHasSlotsForThem) {
  board_.SetJobs({JobWith(1, 100)});
  PlanInForce plan;
  plan.plans["p"].rows = {{{1}, "spot", 4, 0}, {{1}, "dear", 4, 2}};
  const auto facts = [](JobId) { return PlanBook::JobFacts{kBoardJobNeeds}; };
  board_.book().Set(plan, board_.book().BeginLook(), facts);
  const auto worn = [this](std::uint64_t agent, const char* pool) {
    std::vector<WornItems> kinds;
    for (const Ask& ask :
         board_.AsksFor({{0, agent}, "p", pool, "m", kBoardMachine}, {kBoardMachine}, 1, random_)) {
      kinds.push_back(ask.worn);
    }
    return kinds;
  };
  EXPECT_EQ(worn(1, "spot"), (std::vector<WornItems>{WornItems::kNot}));
  EXPECT_EQ(worn(2, "dear"), (std::vector<WornItems>{WornItems::kOnly, WornItems::kAlso}));
  plan.plans["p"].rows = {{{1}, "spot", 4, 0}};
  board_.book().Set(plan, board_.book().BeginLook(), facts);
  board_.book().Unbook({0, 1});
  EXPECT_EQ(worn(3, "spot"), (std::vector<WornItems>{WornItems::kAlso}));
}

}  // namespace
}  // namespace tidemill
