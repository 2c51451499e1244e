// SPDX-License-Identifier: Apache-2.0
// What an agent does when its cloud takes the machine away, or when nobody wants it any more.
#include <optional>
#include <vector>

#include "agent/agent_test.h"
#include "agent/played_data.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class AgentNoticeTest : public AgentTest {
 protected:
  // With ten items of which four run at a time, each for so long.
  void StartWith(Duration takes, Duration stopping = {}) {
    play_.run = [takes](const ItemRun&) { return FakeRun{.takes = takes}; };
    play_.stopping = stopping;
    Grants(1, 0, 10);
    Start();
    RunFor(seconds(3));
  }

  void Start(AgentOptions options = {}) {
    options.ended = [this](AgentEnd end) { ends_.push_back(end); };
    StartAgent(options);
  }

  void Interrupt(Duration lead) {
    agent_->OnNotice({Notice::Kind::kInterruption, loop_.Now() + lead});
  }

  int Interrupted() const {
    int count = 0;
    for (const auto& [item, outcomes] : link_.outcomes) {
      for (const Outcome& outcome : outcomes) count += outcome.cause == Cause::kInterrupted;
    }
    return count;
  }

  std::vector<AgentEnd> ends_;
};

TEST_F(AgentNoticeTest, GivesBackWhatHasNotBegunInTheSameInstant) {
  StartWith(hours(1));
  const std::size_t syncs = link_.syncs.size();
  Interrupt(minutes(2));
  ASSERT_EQ(link_.syncs.size(), syncs + 1);
  const SyncRequest& sync = link_.syncs.back();
  ASSERT_EQ(sync.settlements.size(), 1U);
  EXPECT_EQ(sync.settlements[0].back.Count(), 6);
  EXPECT_TRUE(sync.settlements[0].begun.None());
  EXPECT_EQ(sync.free.millicpus, 0);
  EXPECT_FALSE(sync.leaving);
  ASSERT_TRUE(sync.status);
  EXPECT_NE(sync.status->engine.find("it takes no items"), std::string::npos);
}

TEST_F(AgentNoticeTest, GivesBackAtOnceAlsoRightAfterASync) {
  StartWith(hours(1));
  Grants(2, 20, 1, {2});
  link_.waits(true);
  // In the gap that is kept between two syncs.
  const std::size_t syncs = link_.syncs.size();
  for (int i = 0; i < 100'000 && link_.syncs.size() == syncs; ++i) loop_.Step();
  ASSERT_GT(link_.syncs.size(), syncs);
  RunFor(milliseconds(2));
  const std::size_t before = link_.syncs.size();
  Interrupt(minutes(2));
  EXPECT_EQ(link_.syncs.size(), before + 1);
}

TEST_F(AgentNoticeTest, LetsItemsEndByThemselvesWhileThereIsTime) {
  StartWith(seconds(50));
  Interrupt(minutes(2));
  RunFor(seconds(40));
  EXPECT_TRUE(ends_.empty());
  RunFor(seconds(10));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice});
  EXPECT_EQ(Interrupted(), 0);
  EXPECT_EQ(link_.outcomes.size(), 4U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kSucceeded);
  EXPECT_EQ(link_.given_back, 6);
}

TEST_F(AgentNoticeTest, EndsWhatStillRunsInTimeAndThatCostsNoAttempt) {
  StartWith(hours(1), seconds(10));
  Interrupt(minutes(2));
  RunFor(seconds(59));
  EXPECT_EQ(engine_->containers(), 4U);
  RunFor(seconds(12));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice});
  EXPECT_EQ(engine_->containers(), 0U);
  EXPECT_EQ(Interrupted(), 4);
  EXPECT_EQ(BudgetOf(Cause::kInterrupted), Budget::kNone);
  EXPECT_EQ(link_.outcomes[0][0].exit, 143);
  // Nothing of the lease is left here, and four of it had begun.
  EXPECT_EQ(link_.given_back, 10);
  EXPECT_EQ(link_.given_begun, 4);
  EXPECT_TRUE(link_.syncs.back().leaving);
}

TEST_F(AgentNoticeTest, IsGoneBeforeItsMachineHoweverShortTheNotice) {
  for (const int lead : {0, 1, 2, 5, 15, 30, 59, 60, 61, 90, 120}) {
    link_.outcomes.clear();
    link_.given_back = link_.given_begun = 0;
    ends_.clear();
    StartWith(hours(1), minutes(10));  // they do not end by themselves when they are told to
    Interrupt(seconds(lead));
    RunFor(std::max<Duration>(seconds(lead), milliseconds(10)));
    EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice}) << lead;
    EXPECT_EQ(Interrupted(), 4) << lead;
    EXPECT_EQ(link_.given_back, 10) << lead;
    EXPECT_EQ(engine_->containers(), 0U) << lead;
  }
}

TEST_F(AgentNoticeTest, OfARebalanceFinishesWhatRunsAndNeverKills) {
  StartWith(hours(3));
  agent_->OnNotice({Notice::Kind::kRebalance});
  RunFor(hours(2));
  EXPECT_EQ(link_.given_back, 6);
  EXPECT_EQ(engine_->containers(), 4U);
  EXPECT_TRUE(ends_.empty());
  for (const SyncRequest& sync : link_.syncs) EXPECT_FALSE(sync.leaving);
  EXPECT_EQ(link_.syncs.back().free.millicpus, 0);
  RunFor(hours(1));
  EXPECT_EQ(link_.outcomes.size(), 4U);
  EXPECT_EQ(Interrupted(), 0);
  EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice});
}

TEST_F(AgentNoticeTest, OfAnInterruptionAfterARebalanceIsHeard) {
  StartWith(hours(3));
  agent_->OnNotice({Notice::Kind::kRebalance});
  RunFor(seconds(10));
  Interrupt(seconds(30));
  RunFor(seconds(30));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice});
  EXPECT_EQ(Interrupted(), 4);
}

TEST_F(AgentNoticeTest, OfAnEndByItsGroupLeavesAtOnce) {
  StartWith(hours(3));
  agent_->OnNotice({Notice::Kind::kEnding});
  RunFor(seconds(1));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice});
  EXPECT_EQ(Interrupted(), 4);
}

TEST_F(AgentNoticeTest, WithoutWorkLeavesAtOnceAndDoesNotComeBack) {
  Start();
  RunFor(seconds(3));
  Interrupt(minutes(2));
  RunFor(seconds(1));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice});
  EXPECT_TRUE(link_.syncs.back().leaving);
  EXPECT_EQ(memory_.session, SessionId{});
  const std::size_t joins = link_.joins.size();
  const std::size_t syncs = link_.syncs.size();
  RunFor(minutes(5));
  EXPECT_EQ(link_.joins.size(), joins);
  EXPECT_EQ(link_.syncs.size(), syncs);
  EXPECT_EQ(ends_.size(), 1U);
}

TEST_F(AgentNoticeTest, DoesNotJoinAnewWhenItsSessionIsLost) {
  StartWith(hours(1));
  Interrupt(minutes(2));
  link_.lose_session = true;
  RunFor(seconds(20));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kNotice});
  EXPECT_EQ(link_.joins.size(), 1U);
  EXPECT_EQ(engine_->containers(), 0U);
}

TEST_F(AgentNoticeTest, WhatIsGrantedMeanwhileGoesBackToo) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = hours(1)}; };
  Grants(1, 0, 2);
  Start();
  RunFor(seconds(3));
  Grants(2, 20, 5, {2});
  const std::size_t syncs = link_.syncs.size();
  link_.waits(true);
  ASSERT_EQ(link_.syncs.size(), syncs + 1);
  ASSERT_GT(link_.syncs.back().free.millicpus, 0);
  Interrupt(minutes(2));  // before that sync is answered
  RunFor(seconds(1));
  EXPECT_TRUE(link_.to_grant.empty());
  EXPECT_EQ(link_.given_back, 5);
  EXPECT_EQ(engine_->containers(), 2U);
  EXPECT_TRUE(ends_.empty());
}

TEST_F(AgentNoticeTest, AnAgentThatIsToldToLeaveMeanwhileTellsWhoAsked) {
  StartWith(hours(1));
  Interrupt(minutes(2));
  RunFor(seconds(5));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(1));
  EXPECT_TRUE(left);
  EXPECT_TRUE(ends_.empty());
  EXPECT_EQ(Interrupted(), 4);
}

// --- nobody wants it any more ---

TEST_F(AgentNoticeTest, GivesUpWhenItHearsNoServerForTooLong) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = hours(5)}; };
  Grants(1, 0, 4);
  AgentOptions options;
  options.give_up = minutes(30);
  Start(options);
  RunFor(minutes(40));
  EXPECT_TRUE(ends_.empty());
  link_.down = true;
  RunFor(minutes(29));
  EXPECT_TRUE(ends_.empty());
  EXPECT_EQ(engine_->containers(), 4U);
  RunFor(minutes(2));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kGaveUp});
  EXPECT_EQ(engine_->containers(), 0U);
  EXPECT_EQ(log_.CountOf("agent.gave_up"), 1);
}

TEST_F(AgentNoticeTest, GivesUpAlsoIfNoServerEverTookIt) {
  AgentOptions options;
  options.give_up = minutes(30);
  link_.refuse_joins = Fail(Code::kUnavailable, "not known yet");
  Start(options);
  RunFor(minutes(29));
  EXPECT_TRUE(ends_.empty());
  EXPECT_GT(link_.joins.size(), 100U);
  RunFor(minutes(2));
  EXPECT_EQ(ends_, std::vector{AgentEnd::kGaveUp});
}

TEST_F(AgentNoticeTest, NeverGivesUpIfItIsNotToldTo) {
  link_.refuse_joins = Fail(Code::kUnavailable, "not known yet");
  Start();
  RunFor(hours(5));
  EXPECT_TRUE(ends_.empty());
}

// --- who it is ---

TEST_F(AgentNoticeTest, JoinsWithAProofInsteadOfATokenAndTakesItsNameFromTheServer) {
  AgentOptions options;
  int asked = 0;
  options.proof = [&](auto done) {
    ++asked;
    loop_.After(seconds(1), [done] { done(MachineProof{"aws", "document", "signature"}); });
  };
  options.pool = "spot";
  options.project = "films";
  link_.known_as = "i-0fe2";
  Grants(1, 0, 1);
  Start(options);
  RunFor(seconds(3));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(link_.last_join.proof, (MachineProof{"aws", "document", "signature"}));
  EXPECT_EQ(link_.last_join.pool, "spot");
  EXPECT_EQ(link_.last_join.project, "films");
  EXPECT_EQ(link_.last_join.join_token, "");
  EXPECT_EQ(agent_->machine(), "i-0fe2");
  EXPECT_EQ(link_.outcomes[0][0].machine, "i-0fe2");
}

TEST_F(AgentNoticeTest, AsksForAnotherProofForEachTry) {
  AgentOptions options;
  int asked = 0;
  options.proof = [&](auto done) {
    ++asked;
    loop_.After({}, [done, asked] {
      if (asked == 1) return done(Fail(Code::kUnavailable, "no answer"));
      done(MachineProof{"gcp", "token " + std::to_string(asked), ""});
    });
  };
  link_.refuse_joins = Fail(Code::kUnavailable, "not known yet");
  Start(options);
  for (int i = 0; i < 100'000 && link_.joins.empty(); ++i) loop_.Step();
  ASSERT_FALSE(link_.joins.empty());
  EXPECT_EQ(link_.last_join.proof->document, "token 2");
  link_.refuse_joins.reset();
  RunFor(seconds(3));
  EXPECT_EQ(link_.last_join.proof->document, "token 3");
  EXPECT_TRUE(agent_->joined());
}

TEST_F(AgentNoticeTest, SaysWhereItIs) {
  AgentOptions options;
  options.place = {.provider = "aws", .type = "c7i.large", .zone = "eu-west-1a", .spot = true};
  Start(options);
  RunFor(seconds(3));
  EXPECT_EQ(link_.last_status().type, "c7i.large");
  EXPECT_EQ(link_.last_status().zone, "eu-west-1a");
  EXPECT_TRUE(link_.last_status().spot);
}

}  // namespace
}  // namespace tidemill
