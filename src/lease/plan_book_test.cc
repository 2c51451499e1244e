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
    return book_.SlotsFor(AgentNumber(agent), job, kOneCpu, free);
  }

  std::vector<Reservation> reserved_;
  double item_ms_ = 5000;
  bool has_free_ = true;
  PlanBook book_;
};

TEST_F(PlanBookTest, LimitsNothingBeforeThereIsAPlan) { EXPECT_EQ(SlotsOf(1), 4); }

TEST_F(PlanBookTest, GivesWhatTheRowLeaves) {
  Plans({{kJob, "spot", 10}}, {Owes(1, kJob, 40), Owes(2, kJob, 3)});
  // Forty items run four at a time.
  EXPECT_EQ(SlotsOf(3), 3);
  EXPECT_EQ(SlotsOf(3, kOther), 0);
  EXPECT_EQ(book_.SlotsFor({{0, 9}, "p", "elsewhere", "m", kFourCpus}, kJob, kOneCpu, kFourCpus),
            0);
}

TEST_F(PlanBookTest, WhatEndsSoonMakesWay) {
  Plans({{kJob, "spot", 4}}, {Owes(1, kJob, 4)});
  EXPECT_EQ(SlotsOf(1), 4);                   // all it has is as good as done
  EXPECT_EQ(SlotsOf(1, kJob, {1000, 0}), 1);  // one of four is
  EXPECT_EQ(SlotsOf(2), 0);
}

TEST_F(PlanBookTest, OnlyWhoMayHaveAllOfAMachineHasMoreThanBegins) {
  Plans({{kJob, "spot", 6}});
  const auto allowed = [this](std::uint64_t agent, Resources free) {
    return book_.AllowedFor(AgentNumber(agent), kJob, kOneCpu, free);
  };
  EXPECT_TRUE(allowed(1, kFourCpus).whole);
  EXPECT_TRUE(allowed(1, {1000, 0}).whole);  // others hold the rest: still no more than four
  Plans({{kJob, "spot", 6}}, {Owes(1, kJob, 40)});
  EXPECT_EQ(allowed(2, kFourCpus).slots, 2);
  EXPECT_FALSE(allowed(2, kFourCpus).whole);
  EXPECT_FALSE(allowed(2, {1000, 0}).whole);  // one begins; four could, of a lease of many
  // What ends soon makes no way for more than may run: they would begin beside it.
  Plans({{kJob, "spot", 2}}, {Owes(1, kJob, 2)});
  EXPECT_EQ(allowed(1, kFourCpus).slots, 0);
}

TEST_F(PlanBookTest, CountsWhatIsBeingAsked) {
  Plans({{kJob, "spot", 4}});
  book_.Book(AgentNumber(1), kJob, kOneCpu, 4);
  EXPECT_EQ(SlotsOf(2), 0);
  book_.NoteHeldBack(AgentNumber(2), kJob, kOneCpu, kFourCpus);
  EXPECT_TRUE(book_.TakeHeldBack());
  EXPECT_FALSE(book_.TakeHeldBack());
  book_.Unbook({0, 1});
  EXPECT_EQ(SlotsOf(2), 4);
}

TEST_F(PlanBookTest, KnowsWhatASyncBroughtAtOnce) {
  Plans({{kJob, "spot", 4}});
  book_.Book(AgentNumber(1), kJob, kOneCpu, 3);
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
  EXPECT_EQ(book_.AskedBack(), (std::vector<SessionId>{{0, 1}}));
  EXPECT_EQ(book_.TakeBack({0, 1}), (std::vector<JobId>{kJob}));
  EXPECT_TRUE(book_.TakeBack({0, 1}).empty());
}

TEST_F(PlanBookTest, TheLastItemsAreAskedBackFromWhoHasMost) {
  has_free_ = false;
  Plans({{kJob, "spot", 12}}, {Owes(1, kJob, 6), Owes(2, kJob, 12)});
  EXPECT_EQ(book_.AskedBack(), (std::vector<SessionId>{{0, 2}}));
  has_free_ = true;  // others get those that nobody holds
  Plans({{kJob, "spot", 12}}, {Owes(1, kJob, 6), Owes(2, kJob, 12)});
  EXPECT_TRUE(book_.AskedBack().empty());
}

TEST_F(PlanBookTest, ATailThatIsSoonOverIsLeftAlone) {
  has_free_ = false;
  item_ms_ = 100;
  Plans({{kJob, "spot", 12}}, {Owes(1, kJob, 20)});
  EXPECT_TRUE(book_.AskedBack().empty());
}

}  // namespace
}  // namespace tidemill
