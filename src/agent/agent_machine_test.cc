// SPDX-License-Identifier: Apache-2.0
// What an agent tells of its machine, and how it joins.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/agent_testing.h"
#include "base/virtual_loop.h"
#include "engine/fake/fake_engine.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class AgentMachineTest : public ::testing::Test {
 protected:
  void StartAgent(AgentOptions options = {}) {
    options.machine = "m1";
    options.shape = {4000, 8LL << 30};
    engine_ = std::make_unique<FakeEngine>(loop_, play_);
    agent_ = std::make_unique<Agent>(
        AgentDeps{loop_, link_, *engine_, random_, log_, logs_, memory_}, options);
    agent_->Start();
  }

  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  TestLink link_{loop_};
  TestLogs logs_;
  TestMemory memory_;
  TestLog log_;
  FakeEngine::Play play_;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentMachineTest, AMachineUnfitForAJobGivesItBackAndDoesNotHaveItPaused) {
  play_.open = [](const ContainerSpec&) -> Result<void> {
    return Fail(Code::kUnavailable, "the pool wants another engine");
  };
  link_.documents.try_emplace({1}, R"({"command":["true"]})");
  Grant grant;
  grant.lease.id = {1, 1};
  grant.lease.chunk = {{1}, 0};
  grant.lease.mine = Bits::Range(100, 0, 10);
  link_.to_grant.push_back(grant);
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
