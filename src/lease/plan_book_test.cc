// SPDX-License-Identifier: Apache-2.0
#include "lease/plan_book.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

const Resources kOneCpu{1000, 0};
const Resources kFourCpus{4000, 0};
constexpr JobId kJob{1};
constexpr JobId kOther{2};

AgentPlace AgentNumber(std::uint64_t number) {
  return {{0, number}, "p", "spot", "spot-" + std::to_string(number), kFourCpus};
}

class PlanBookTest : public ::testing::Test {
 protected:
  void Plans(std::vector<PlanRow> rows, std::vector<SessionUse> uses = {}) {
    PlanInForce plan;
    plan.plans["p"].rows = std::move(rows);
    plan.plans["p"].reserved = reserved_;
    plan.uses = std::move(uses);
    book_.Set(std::move(plan), book_.BeginLook(),
              [this](JobId) { return PlanBook::JobFacts{kOneCpu, item_ms_, has_free_}; });
  }
  static SessionUse Owes(std::uint64_t agent, JobId job, std::int64_t items) {
    return {{0, agent}, "p", "spot", kFourCpus, {{job, items}}};
  }
  std::int64_t SlotsOf(std::uint64_t agent, JobId job = kJob, Resources free = kFourCpus) const {
    return book_.SlotsFor(AgentNumber(agent), job, kOneCpu, {free});
  }
  // The agent asks with this room, and is granted so many items if it may begin some.
  void Grants(std::uint64_t agent, JobId job, std::int64_t items, const AgentRoom& room) {
    const auto allowed = book_.AllowedFor(AgentNumber(agent), job, kOneCpu, room);
    if (allowed.slots == 0) return;
    book_.Book(AgentNumber(agent), job, kOneCpu, allowed);
    owed_[agent][job] += items;
    Settles(agent);
  }
  void Settles(std::uint64_t agent) { book_.Settle(AgentNumber(agent), owed_[agent]); }
  std::int64_t LimitOf(std::uint64_t agent, JobId job = kJob) {
    const auto limits = book_.LimitsOf({0, agent});
    return limits.contains(job) ? limits.at(job) : -1;
  }

  std::vector<Reservation> reserved_;
  std::optional<double> item_ms_ = 5000;
  bool has_free_ = true;
  std::map<std::uint64_t, std::map<JobId, std::int64_t>> owed_;
  PlanBook book_;
};

TEST_F(PlanBookTest, LimitsNothingBeforeThereIsAPlan) { EXPECT_EQ(SlotsOf(1), 4); }

TEST_F(PlanBookTest, GivesWhatTheRowLeaves) {
  Plans({{kJob, "spot", 10}}, {Owes(1, kJob, 40), Owes(2, kJob, 3)});
  // Forty items run four at a time.
  EXPECT_EQ(SlotsOf(3), 3);
  EXPECT_EQ(SlotsOf(3, kOther), 0);
  EXPECT_EQ(book_.SlotsFor({{0, 9}, "p", "elsewhere", "m", kFourCpus}, kJob, kOneCpu, {kFourCpus}),
            0);
}

TEST_F(PlanBookTest, WhatIsOverMakesWay) {
  Plans({{kJob, "spot", 4}}, {Owes(1, kJob, 4)});
  EXPECT_EQ(SlotsOf(1), 0);
  const auto holds = [this](std::uint64_t agent, std::int64_t items, Resources free) {
    AgentRoom room{free};
    room.holds.emplace().emplace(kJob, items);
    return book_.SlotsFor(AgentNumber(agent), kJob, kOneCpu, room);
  };
  EXPECT_EQ(holds(1, 0, kFourCpus), 4);
  EXPECT_EQ(holds(1, 0, {1000, 0}), 1);  // another job has the rest of the machine
  EXPECT_EQ(holds(1, 3, {1000, 0}), 1);  // its sync says that one has ended
  EXPECT_EQ(holds(1, 4, {1000, 0}), 0);
  EXPECT_EQ(holds(1, 9, {1000, 0}), 0);  // a lie
  EXPECT_EQ(holds(2, 0, kFourCpus), 0);
}

// It has ended as many as it gets: what it owes is not more than before.
TEST_F(PlanBookTest, TheLimitRisesWithWhatIsGrantedForWhatHasEnded) {
  Plans({{kJob, "spot", 4}}, {Owes(1, kJob, 10)});
  AgentRoom room{kFourCpus};
  room.holds.emplace();
  book_.Settle(AgentNumber(1), {{kJob, 10}});
  const PlanBook::Allowed allowed = book_.AllowedFor(AgentNumber(1), kJob, kOneCpu, room);
  EXPECT_EQ(allowed.limit, 4);
  book_.Book(AgentNumber(1), kJob, kOneCpu, allowed);
  book_.Settle(AgentNumber(1), {{kJob, 6}});
  EXPECT_EQ(LimitOf(1), 4);
}

TEST_F(PlanBookTest, AnAgentRunsNoMoreThanItsPartOfThePlan) {
  Plans({{kJob, "spot", 6}});
  Grants(1, kJob, 40, {kFourCpus});
  EXPECT_EQ(LimitOf(1), 4);
  Grants(2, kJob, 40, {kFourCpus});
  EXPECT_EQ(LimitOf(2), 2);
  Grants(3, kJob, 40, {kFourCpus});
  EXPECT_EQ(LimitOf(3), -1) << "nothing is left for it";
  // What ends soon is followed by as many.
  Grants(2, kJob, 40, {kFourCpus, {}, std::map<JobId, std::int64_t>()});
  EXPECT_EQ(LimitOf(2), 2);
}

TEST_F(PlanBookTest, AJobThatRestsThereIsNotGranted) {
  Plans({{kJob, "spot", 4}, {kOther, "spot", 4}});
  EXPECT_EQ(book_.SlotsFor(AgentNumber(1), kJob, kOneCpu, {kFourCpus, {kJob}}), 0);
  EXPECT_EQ(book_.SlotsFor(AgentNumber(1), kOther, kOneCpu, {kFourCpus, {kJob}}), 4);
}

TEST_F(PlanBookTest, ASecondJobLowersTheLimitAndNothingGoesBack) {
  Plans({{kJob, "spot", 4}});
  Grants(1, kJob, 400, {kFourCpus});
  Plans({{kJob, "spot", 2}, {kOther, "spot", 2}}, {Owes(1, kJob, 400)});
  EXPECT_EQ(LimitOf(1), 2);
  EXPECT_EQ(book_.ToBeTold(), (std::vector<SessionId>{{0, 1}}));
  EXPECT_TRUE(book_.TakeBack({0, 1}).empty());
  // As soon as there is room the other one has its part.
  Grants(1, kOther, 400, {{2000, 0}});
  EXPECT_EQ(LimitOf(1, kOther), 2);
  EXPECT_EQ(LimitOf(1), 2);
}

// Its engine was away, or it was started anew: it has begun nothing of what it holds.
TEST_F(PlanBookTest, WhatAnAgentHoldsTakesItsRoomThoughItSaysThatAllIsFree) {
  Plans({{kJob, "spot", 8}, {kOther, "spot", 8}});
  Grants(1, kJob, 3, {kFourCpus});
  EXPECT_EQ(LimitOf(1), 4);
  Grants(1, kOther, 4, {kFourCpus});
  EXPECT_EQ(LimitOf(1, kOther), 1);
  EXPECT_EQ(SlotsOf(1), 0);
  // All but what runs there is left for others.
  EXPECT_EQ(SlotsOf(2, kJob, {8000, 0}), 5);
  EXPECT_EQ(SlotsOf(2, kOther, {8000, 0}), 7);
}

TEST_F(PlanBookTest, WhatCannotRunThereTakesNoRoom) {
  Plans({{kJob, "spot", 8}, {kOther, "spot", 8}});
  Grants(1, kJob, 3, {kFourCpus});
  AgentRoom room{kFourCpus};
  room.resting.insert(kJob);
  EXPECT_EQ(book_.SlotsFor(AgentNumber(1), kOther, kOneCpu, room), 4);
}

// Another server granted it more of one job while this one had limits for both.
TEST_F(PlanBookTest, NoMoreCountsAsUsedThanAMachineHolds) {
  Plans({{kJob, "spot", 8}, {kOther, "spot", 8}});
  Grants(1, kJob, 1, {kFourCpus});
  Grants(1, kOther, 1, {{3000, 0}});
  Plans({{kJob, "spot", 8}, {kOther, "spot", 8}},
        {{{0, 1}, "p", "spot", kFourCpus, {{kJob, 4}, {kOther, 4}}}});
  EXPECT_EQ(SlotsOf(2, kJob, {8000, 0}) + SlotsOf(2, kOther, {8000, 0}), 12);
}

TEST_F(PlanBookTest, WhenTheOtherJobIsOverTheLimitRises) {
  Plans({{kJob, "spot", 2}, {kOther, "spot", 2}});
  Grants(1, kJob, 400, {kFourCpus});
  Grants(1, kOther, 400, {{2000, 0}});
  owed_[1].erase(kOther);
  AgentRoom room{{2000, 0}};
  book_.RaiseLimits(AgentNumber(1), room);
  EXPECT_EQ(LimitOf(1), 2) << "the plan is as before";
  Settles(1);
  Plans({{kJob, "spot", 4}}, {Owes(1, kJob, 300)});
  EXPECT_EQ(LimitOf(1), 4) << "it said what room it has";
  EXPECT_EQ(book_.ToBeTold(), (std::vector<SessionId>{{0, 1}}));
}

TEST_F(PlanBookTest, AJobWithNoSlotsLeftGivesBackUntilItHas) {
  Plans({{kJob, "spot", 4}});
  Grants(1, kJob, 400, {kFourCpus});
  const auto asked_back = [this](std::int64_t owes) {
    Plans({{kOther, "spot", 4}}, {Owes(1, kJob, owes)});
    EXPECT_EQ(LimitOf(1), 0);
    return book_.TakeBack({0, 1}) == std::vector<JobId>{kJob};
  };
  EXPECT_TRUE(asked_back(400));
  EXPECT_TRUE(asked_back(300)) << "it gave something back, but not all";
  int again = 1;
  while (!asked_back(300)) ++again;
  // What it still owes it may have begun, for hours; or the answer was lost.
  EXPECT_EQ(again, 15);
}

TEST_F(PlanBookTest, OfAgentsThatSyncElsewhereNoMoreIsCountedThanTheirMachinesHold) {
  SessionUse both = Owes(1, kJob, 400);
  both.owed[kOther] = 400;
  Plans({{kJob, "spot", 4}, {kOther, "spot", 4}}, {both});
  EXPECT_EQ(SlotsOf(2), 2);
  EXPECT_EQ(SlotsOf(2, kOther), 2);
}

TEST_F(PlanBookTest, CountsWhatIsBeingAsked) {
  Plans({{kJob, "spot", 4}});
  book_.Book(AgentNumber(1), kJob, kOneCpu, {.slots = 4, .limit = 4});
  EXPECT_EQ(SlotsOf(2), 0);
  book_.NoteHeldBack(AgentNumber(2), kJob, kOneCpu, {kFourCpus});
  EXPECT_TRUE(book_.TakeHeldBack());
  EXPECT_FALSE(book_.TakeHeldBack());
  book_.Unbook({0, 1});
  EXPECT_EQ(SlotsOf(2), 4);
}

TEST_F(PlanBookTest, KnowsWhatASyncBroughtAtOnce) {
  Plans({{kJob, "spot", 4}});
  book_.Book(AgentNumber(1), kJob, kOneCpu, {.slots = 3, .limit = 3});
  book_.Settle(AgentNumber(1), {{kJob, 3}});
  EXPECT_EQ(SlotsOf(2), 1);
  book_.Settle(AgentNumber(1), {});
  EXPECT_EQ(SlotsOf(2), 4);
}

TEST_F(PlanBookTest, BelievesASyncMoreThanAnOlderAnswer) {
  Plans({{kJob, "spot", 4}});
  const std::int64_t look = book_.BeginLook();
  book_.Settle(AgentNumber(1), {{kJob, 4}});
  PlanInForce answer;  // from before that
  answer.plans["p"].rows = {{kJob, "spot", 4}};
  const auto facts = [](JobId) { return PlanBook::JobFacts{kOneCpu, 5000, true}; };
  book_.Set(answer, look, facts);
  EXPECT_EQ(SlotsOf(2), 0);
  book_.Set(answer, book_.BeginLook(), facts);
  EXPECT_EQ(SlotsOf(2), 4);
}

TEST_F(PlanBookTest, AReservedMachineIsForItsJob) {
  reserved_ = {{"spot-1", kOther}};
  Plans({{kJob, "spot", 4}, {kOther, "spot", 4}});
  EXPECT_EQ(SlotsOf(1), 0);
  EXPECT_EQ(SlotsOf(1, kOther), 4);
  EXPECT_EQ(SlotsOf(2), 4);
}

TEST_F(PlanBookTest, ASurplusIsGivenBackByAsManyAsHoldIt) {
  Plans({{kJob, "spot", 4}}, {Owes(1, kJob, 40), Owes(2, kJob, 4), Owes(3, kJob, 40)});
  // Agent 2 has begun all it holds, and makes room by itself; one of the others must.
  EXPECT_EQ(book_.ToBeTold(), (std::vector<SessionId>{{0, 1}}));
  EXPECT_EQ(book_.TakeBack({0, 1}), (std::vector<JobId>{kJob}));
  EXPECT_TRUE(book_.TakeBack({0, 1}).empty());
}

TEST_F(PlanBookTest, TheLastItemsAreAskedBackFromWhoHasMost) {
  has_free_ = false;
  Plans({{kJob, "spot", 12}}, {Owes(1, kJob, 6), Owes(2, kJob, 12)});
  EXPECT_EQ(book_.ToBeTold(), (std::vector<SessionId>{{0, 2}}));
  has_free_ = true;  // others get those that nobody holds
  Plans({{kJob, "spot", 12}}, {Owes(1, kJob, 6), Owes(2, kJob, 12)});
  EXPECT_TRUE(book_.ToBeTold().empty());
}

TEST_F(PlanBookTest, ATailThatIsSoonOverIsLeftAlone) {
  has_free_ = false;
  item_ms_ = 100;
  Plans({{kJob, "spot", 12}}, {Owes(1, kJob, 20)});
  EXPECT_TRUE(book_.ToBeTold().empty());
  item_ms_ = std::nullopt;  // they may take hours
  Plans({{kJob, "spot", 12}}, {Owes(1, kJob, 5)});
  EXPECT_EQ(book_.ToBeTold(), (std::vector<SessionId>{{0, 1}}));
}

}  // namespace
}  // namespace tidemill
