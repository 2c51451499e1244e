// SPDX-License-Identifier: Apache-2.0
// What an agent tells of its machine, and how it joins.
#include <string>

#include "agent/agent_test.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class AgentMachineTest : public AgentTest {};

TEST_F(AgentMachineTest, AMachineUnfitForAJobGivesItBackAndDoesNotHaveItPaused) {
  play_.open = [](const ContainerSpec&) -> Result<void> {
    return Fail(Code::kUnavailable, "the pool wants another engine");
  };
  Grants(1, 0, 10);
  StartAgent();
  RunFor(seconds(20));
  ASSERT_EQ(link_.last_status().jobs.size(), 1U);
  EXPECT_EQ(link_.last_status().jobs[0].trouble, "the pool wants another engine");
  RunFor(seconds(40));
  EXPECT_EQ(link_.given_back, 10);
  EXPECT_TRUE(link_.troubles.empty());
}

TEST_F(AgentMachineTest, TellsWhetherTheNetworkIsOpenNowAndNotAtItsStart) {
  std::string open;
  play_.open_network = [&open] { return open; };
  StartAgent();
  RunFor(seconds(10));
  EXPECT_EQ(link_.last_status().engine, "fake");
  EXPECT_EQ(log_.CountOf("firewall.shut"), 0);
  open = "somebody flushed the rules";
  RunFor(seconds(2));
  EXPECT_EQ(link_.last_status().engine, "fake; its network is open: somebody flushed the rules");
  open = "";
  RunFor(seconds(2));
  EXPECT_EQ(link_.last_status().engine, "fake");
  EXPECT_EQ(log_.CountOf("firewall.open"), 1);
  EXPECT_EQ(log_.CountOf("firewall.shut"), 1);
}

TEST_F(AgentMachineTest, ReadsItsJoinTokenAnewAndSaysEveryMinuteWhyItCannotJoin) {
  std::string token = "old";
  link_.good_token = "fresh";
  AgentOptions options;
  options.join_token = [&token] { return token; };
  StartAgent(options);
  RunFor(seconds(150));
  EXPECT_FALSE(agent_->joined());
  EXPECT_EQ(log_.CountOf("agent.cannot_join"), 3);
  token = "fresh";
  RunFor(seconds(10));
  EXPECT_TRUE(agent_->joined());
  EXPECT_EQ(link_.join_tokens.front(), "old");
  EXPECT_EQ(link_.join_tokens.back(), "fresh");
}

}  // namespace
}  // namespace tidemill
