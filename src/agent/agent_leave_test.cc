// SPDX-License-Identifier: Apache-2.0
// How an agent leaves.
#include "agent/agent_test.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class AgentLeaveTest : public AgentTest {};

TEST_F(AgentLeaveTest, LeavesInGoodOrder) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(5)}; };
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(3));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(1));
  EXPECT_TRUE(left);
  EXPECT_TRUE(link_.syncs.back().leaving);
  EXPECT_EQ(engine_->containers(), 0U);
  // What ran is told as interrupted, and costs nothing.
  EXPECT_EQ(link_.outcomes.size(), 4U);
  for (const auto& [item, outcomes] : link_.outcomes) {
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_EQ(outcomes[0].cause, Cause::kInterrupted);
    EXPECT_EQ(outcomes[0].exit, 143);
  }
  EXPECT_EQ(link_.given_begun, 4);
  EXPECT_EQ(link_.given_back, 4);
  EXPECT_EQ(memory_.session, SessionId{});
  const auto syncs = link_.syncs.size();
  RunFor(minutes(1));
  EXPECT_EQ(link_.syncs.size(), syncs);
}

TEST_F(AgentLeaveTest, GivesItemsTheirTimeToEndBeforeItLeaves) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(29)}; };
  play_.stopping = minutes(1);
  link_.documents[JobId{1}] = R"({"command":["true"],"resources":{"cpus":4}})";
  Grants(1, 0, 3);
  StartAgent();
  RunFor(seconds(23));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(milliseconds(5));
  EXPECT_EQ(link_.given_back, 2);  // others could run it meanwhile
  RunFor(seconds(4));
  EXPECT_FALSE(left);
  EXPECT_FALSE(link_.syncs.back().leaving);
  RunFor(seconds(4));
  EXPECT_TRUE(left);
  // One ended by itself meanwhile; the others had not begun.
  ASSERT_EQ(link_.outcomes.size(), 1U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kSucceeded);
  EXPECT_EQ(link_.given_back, 2);
  EXPECT_EQ(link_.given_begun, 0);
}

TEST_F(AgentLeaveTest, DoesNotWaitForEverForItemsThatDoNotEnd) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(9)}; };
  play_.stopping = minutes(5);
  Grants(1, 0, 6);
  StartAgent();
  RunFor(seconds(3));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(16));
  EXPECT_TRUE(left);
  ASSERT_EQ(link_.outcomes.size(), 4U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kInterrupted);
  EXPECT_EQ(link_.outcomes[0][0].exit, 137);
  EXPECT_EQ(link_.given_back, 6);
  EXPECT_EQ(engine_->containers(), 0U);
}

TEST_F(AgentLeaveTest, LeavesEvenIfNoServerHearsIt) {
  StartAgent();
  RunFor(seconds(3));
  link_.down = true;
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(11));
  EXPECT_TRUE(left);
}

}  // namespace
}  // namespace tidemill
