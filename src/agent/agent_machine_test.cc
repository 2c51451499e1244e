// SPDX-License-Identifier: Apache-2.0
// What an agent tells of its machine, and how it joins.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

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

TEST_F(AgentMachineTest, GivesAnItemTheMemoryThatItsLeaseSays) {
  std::vector<std::int64_t> memory;
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(5)}; };
  play_.open = [&memory](const ContainerSpec& spec) -> Result<void> {
    memory.push_back(spec.limits.memory_bytes);
    return {};
  };
  Grants(1, 0, 1);
  Grants(2, 1, 5);
  link_.to_grant.back().lease.memory_bytes = 3LL << 30;
  StartAgent();
  RunFor(seconds(4));
  // Two of 3 GiB fit beside the first.
  EXPECT_EQ(std::count(memory.begin(), memory.end(), 3LL << 30), 2);
  EXPECT_EQ(memory.size(), 3U);
  EXPECT_EQ(link_.syncs.back().free.memory_bytes, 2LL << 30);
  RunFor(seconds(30));
  EXPECT_EQ(link_.outcomes.size(), 6U);
}

TEST_F(AgentMachineTest, GivesBackWhatNeedsMoreThanTheMachineHas) {
  Grants(1, 0, 5);
  link_.to_grant.back().lease.memory_bytes = 9LL << 30;
  Grants(2, 5, 5);
  StartAgent();
  RunFor(seconds(20));
  EXPECT_EQ(link_.given_back, 5);
  EXPECT_EQ(link_.given_begun, 0);
  EXPECT_EQ(link_.outcomes.size(), 5U);
  EXPECT_TRUE(link_.troubles.empty());
}

TEST_F(AgentMachineTest, IsFreeAsAWholeOnlyWhileItHoldsNothing) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(5)}; };
  const auto is_whole = [](const SyncRequest& sync) {
    return sync.free.devices.contains(kWholeMachine);
  };
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(2));
  EXPECT_TRUE(is_whole(link_.syncs.front()));
  EXPECT_FALSE(is_whole(link_.syncs.back()));
  EXPECT_GT(link_.syncs.back().free.millicpus, 0);
  RunFor(seconds(10));
  EXPECT_EQ(link_.outcomes.size(), 1U);
  EXPECT_TRUE(is_whole(link_.syncs.back()));
}

}  // namespace
}  // namespace tidemill
