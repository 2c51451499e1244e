// SPDX-License-Identifier: Apache-2.0
// Items whose init is starved: the agent ends their containers, and tells each end once.
#include <chrono>

#include "agent/agent_test.h"
#include "agent/run_tag.h"

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr char kTimed[] =
    R"({"command":["true"],"resources":{"cpus":4},"timeout":"60s","grace":"5s"})";

class AgentLateTest : public AgentTest {
 protected:
  // Item 0 hangs wherever it runs; the others end at once.
  void Play(const char* document) {
    link_.documents[JobId{1}] = document;
    play_.run = [](const ItemRun& run) {
      return FakeRun{.hangs = run.tag == FormatRunTag({{{1, 1}, 0}, 0})};
    };
  }
};

TEST_F(AgentLateTest, TellsThatTheItemTimedOutAndRunsTheOthers) {
  Play(kTimed);
  Grants(1, 0, 5);
  StartAgent();
  RunFor(seconds(80));
  EXPECT_EQ(engine_->containers(), 1U);
  EXPECT_EQ(link_.outcomes.size(), 0U);
  RunFor(minutes(3));
  EXPECT_EQ(log_.CountOf("container.late"), 1);
  ASSERT_EQ(link_.outcomes.size(), 5U);
  for (const auto& [item, outcomes] : link_.outcomes) ASSERT_EQ(outcomes.size(), 1U) << item;
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kTimeout);
  EXPECT_EQ(link_.outcomes[0][0].exit, 137);
  for (int item = 1; item < 5; ++item) {
    EXPECT_EQ(link_.outcomes[item][0].cause, Cause::kSucceeded);
    EXPECT_EQ(link_.outcomes[item][0].attempt, 1);
  }
  EXPECT_EQ(link_.given_back, 0);
  EXPECT_NE(logs_.text[0].find("did not end in time"), std::string::npos);
  EXPECT_EQ(logs_.text.size(), 1U);
}

TEST_F(AgentLateTest, LeavesAnItemAloneThatInitEndsAtItsTimeout) {
  Play(kTimed);
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(9)}; };
  Grants(1, 0, 2);
  StartAgent();
  RunFor(minutes(5));
  EXPECT_EQ(log_.CountOf("container.late"), 0);
  ASSERT_EQ(link_.outcomes.size(), 2U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kTimeout);
  EXPECT_EQ(link_.outcomes[0][0].exit, 143);
}

TEST_F(AgentLateTest, EndsAContainerWhoseLeaseIsGone) {
  Play(R"({"command":["true"],"resources":{"cpus":4},"grace":"5s"})");
  Grants(1, 0, 1);
  StartAgent();
  RunFor(minutes(20));
  EXPECT_EQ(engine_->containers(), 1U);
  link_.to_drop = {{1, 1}};
  RunFor(seconds(60));
  EXPECT_EQ(engine_->containers(), 0U);
  EXPECT_EQ(link_.outcomes.size(), 0U);
  EXPECT_EQ(link_.given_back, 0);
}

TEST_F(AgentLateTest, GivesARunThatItTookOverItsWholeTimeOnceMore) {
  Play(kTimed);
  FakeFound found;
  found.spec.job = {1};
  found.spec.limits = {4000, 0};
  ItemRun run;
  run.number = 41;
  run.tag = FormatRunTag({{{1, 1}, 0}, 0});
  found.runs = {run};
  play_.found = {found};
  Grants(1, 0, 2);
  StartAgent();
  RunFor(seconds(85));
  EXPECT_EQ(log_.CountOf("container.adopted"), 1);
  EXPECT_EQ(log_.CountOf("container.late"), 0);
  RunFor(seconds(60));
  EXPECT_EQ(log_.CountOf("container.late"), 1);
  ASSERT_EQ(link_.outcomes[0].size(), 1U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kTimeout);
  EXPECT_EQ(link_.outcomes[1][0].cause, Cause::kSucceeded);
}

}  // namespace
}  // namespace tidemill
