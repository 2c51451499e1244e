// SPDX-License-Identifier: Apache-2.0
// The modes, limits and rules of a spec, as an agent carries them out.
#include <string>
#include <vector>

#include "agent/agent_test.h"
#include "agent/hand_engine.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using How = ItemEnd::How;

class AgentModesTest : public AgentTest {
 protected:
  ~AgentModesTest() override { agent_.reset(); }  // before its engine

  // A loop whose containers the test plays.
  void StartLoop(int cpus) {
    link_.documents[JobId{1}] =
        R"({"command":["serve","{job}"],"mode":"loop","resources":{"cpus":)" +
        std::to_string(cpus) + "}}";
    AgentOptions options;
    options.machine = "m1";
    options.shape = {4000, 8LL << 30};
    agent_ = std::make_unique<Agent>(AgentDeps{loop_, link_, hand_, random_, log_, logs_, memory_},
                                     options);
    agent_->Start();
    RunFor(milliseconds(500));
  }

  HandEngine hand_{loop_};
};

TEST_F(AgentModesTest, AContainerForEachItem) {
  int opened = 0;
  std::size_t most = 0;
  play_.open = [&opened](const ContainerSpec&) {
    ++opened;
    return Result<void>();
  };
  play_.run = [this, &most](const ItemRun&) {
    most = std::max(most, engine_->containers());
    return FakeRun{.takes = seconds(1)};
  };
  link_.documents[JobId{1}] = R"({"command":["true"],"mode":"container","resources":{"cpus":1}})";
  Grants(1, 0, 10);
  StartAgent();
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 10U);
  EXPECT_EQ(opened, 10);
  EXPECT_EQ(most, 4U);
  EXPECT_EQ(engine_->containers(), 0U);
}

TEST_F(AgentModesTest, ALoopIsGivenItsItemsAndItsProgram) {
  Grants(1, 5, 2);
  StartLoop(4);
  ASSERT_EQ(hand_.made.size(), 1U);
  const auto& container = *hand_.made[0];
  EXPECT_TRUE(container.spec.loop);
  EXPECT_EQ(*container.program.command, (std::vector<std::string>{"serve", "test-1"}));
  ASSERT_EQ(container.runs.size(), 2U);
  EXPECT_EQ(container.runs[0].item, R"({"item":5,"text":"5","job":"test-1","attempt":1})");
  EXPECT_FALSE(container.runs[0].alone);
  EXPECT_EQ(container.runs[0].command, std::nullopt);
  EXPECT_TRUE(container.runs[0].env.empty());
  hand_.made[0]->End(1, How::kExited, 3);
  hand_.made[0]->End(0);
  RunFor(seconds(2));
  EXPECT_EQ(link_.outcomes.at(6)[0].exit, 3);
  EXPECT_EQ(link_.outcomes.at(5)[0].cause, Cause::kSucceeded);
}

TEST_F(AgentModesTest, ItemsOfAProgramThatDiedWithSeveralRunAgainOneByOne) {
  Grants(1, 0, 5);
  StartLoop(4);
  auto& container = *hand_.made.at(0);
  ASSERT_EQ(container.runs.size(), 5U);
  container.End(0, How::kAmongOthers, 139);
  container.End(0, How::kAmongOthers, 139);
  // The others were not held, and end as they like.
  EXPECT_EQ(container.runs.size(), 3U);
  for (int i = 0; i < 3; ++i) container.End(0);
  ASSERT_EQ(container.runs.size(), 1U);
  EXPECT_TRUE(container.runs[0].alone);
  container.End(0, How::kSignalled, 139);
  ASSERT_EQ(container.runs.size(), 1U);
  EXPECT_TRUE(container.runs[0].alone);
  container.End(0);
  RunFor(seconds(5));
  ASSERT_EQ(link_.outcomes.size(), 5U);
  for (const auto& [item, outcomes] : link_.outcomes) {
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_EQ(outcomes[0].attempt, 1);
    EXPECT_EQ(outcomes[0].cause, item == 0 ? Cause::kFailed : Cause::kSucceeded);
  }
  EXPECT_EQ(link_.given_back, 0);
}

TEST_F(AgentModesTest, AnItemThatEndsEveryContainerOfALoopIsFoundAndHasFailed) {
  Grants(1, 0, 3);
  StartLoop(4);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(hand_.made.at(0)->runs.size(), 3U);
    hand_.made[0]->events.OnGone("killed");
    RunFor(seconds(1));
  }
  for (const bool kills : {true, false, false}) {
    ASSERT_EQ(hand_.made.at(0)->runs.size(), 1U);
    EXPECT_TRUE(hand_.made[0]->runs[0].alone);
    if (kills) {
      hand_.made[0]->events.OnGone("killed");
    } else {
      hand_.made[0]->End(0);
    }
    RunFor(seconds(1));
  }
  RunFor(seconds(5));
  ASSERT_EQ(link_.outcomes.size(), 3U);
  EXPECT_EQ(link_.outcomes[0][0].exit, 137);
  EXPECT_EQ(link_.outcomes[1][0].cause, Cause::kSucceeded);
  EXPECT_EQ(link_.outcomes[2][0].cause, Cause::kSucceeded);
}

TEST_F(AgentModesTest, TheFirstContainerOfALoopLeavesSomeForTheOthers) {
  Grants(1, 0, 20);
  StartLoop(1);
  ASSERT_EQ(hand_.made.size(), 4U);
  for (const auto* container : hand_.made) EXPECT_EQ(container->runs.size(), 5U);
}

TEST_F(AgentModesTest, WhatWouldRunOutOfMemoryTooGoesBackToBeGivenMore) {
  play_.run = [](const ItemRun&) {
    return FakeRun{.takes = seconds(1), .memory_bytes = 100LL << 30};
  };
  link_.documents[JobId{1}] =
      R"({"command":["true"],"resources":{"cpus":4,"memory":{"start":"1GiB","max":"4GiB"}}})";
  link_.documents[JobId{2}] =
      R"({"command":["true"],"resources":{"cpus":4,"memory":{"start":"1GiB","max":"1GiB"}}})";
  Grants(1, 0, 10);
  StartAgent();
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 3U);
  EXPECT_EQ(link_.given_back, 7);
  // There is no more to be had.
  Grants(2, 0, 10, {2});
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 10U);
  EXPECT_EQ(link_.given_back, 7);
}

TEST_F(AgentModesTest, WhatWouldRunOutOfMemoryTooGoesBackFromAllLeases) {
  play_.run = [](const ItemRun&) {
    return FakeRun{.takes = std::chrono::milliseconds(100), .memory_bytes = 100LL << 30};
  };
  link_.documents[JobId{1}] =
      R"({"command":["true"],"resources":{"cpus":4,"memory":{"start":"1GiB","max":"4GiB"}}})";
  for (int i = 0; i < 20; ++i) Grants(1 + i, i, 1);
  StartAgent();
  RunFor(seconds(20));
  EXPECT_GT(link_.given_back, 5);
  EXPECT_EQ(link_.outcomes.size() + link_.given_back, 20U);
}

TEST_F(AgentModesTest, AnItemCanHaveTheWholeMachine) {
  std::vector<ContainerSpec> specs;
  play_.open = [&specs](const ContainerSpec& spec) {
    specs.push_back(spec);
    return Result<void>();
  };
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(3)}; };
  link_.documents[JobId{2}] = R"({"command":["true"],"resources":"machine"})";
  Grants(1, 0, 2, {1});
  Grants(2, 10, 2, {2});
  Grants(3, 20, 2, {1});
  AgentOptions options;
  options.devices = {{"gpu", "/dev/gpu0"}, {"gpu", "/dev/gpu1"}};
  StartAgent(options);
  RunFor(seconds(40));
  EXPECT_EQ(link_.outcomes.size(), 6U);
  int whole = 0;
  for (const ContainerSpec& spec : specs) {
    if (spec.job != JobId{2}) continue;
    ++whole;
    EXPECT_EQ(spec.limits.millicpus, 4000);
    EXPECT_EQ(spec.limits.memory_bytes, 8LL << 30);
    EXPECT_EQ(spec.devices, (std::vector<std::string>{"/dev/gpu0", "/dev/gpu1"}));
  }
  EXPECT_GE(whole, 1);
}

TEST_F(AgentModesTest, DevicesAreGivenToOneContainerAtATime) {
  std::vector<std::vector<std::string>> devices;
  play_.open = [&devices](const ContainerSpec& spec) {
    devices.push_back(spec.devices);
    return Result<void>();
  };
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(3)}; };
  link_.documents[JobId{1}] = R"({"command":["true"],"resources":{"cpus":1,"devices":{"gpu":1}}})";
  Grants(1, 0, 6);
  AgentOptions options;
  options.devices = {{"gpu", "/dev/gpu0"}, {"gpu", "/dev/gpu1"}};
  StartAgent(options);
  RunFor(seconds(2));
  EXPECT_EQ(devices, (std::vector<std::vector<std::string>>{{"/dev/gpu0"}, {"/dev/gpu1"}}));
  EXPECT_FALSE(link_.syncs.back().free.devices.contains("gpu"));
  EXPECT_EQ(link_.syncs.front().free.devices.at("gpu"), 2);
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), 6U);
}

TEST_F(AgentModesTest, WhatMustNotBeTriedAgainIsToldSo) {
  link_.documents[JobId{1}] = R"({"command":["true"],"retry":{"never":[9]}})";
  play_.run = [](const ItemRun&) { return FakeRun{.exit = 9}; };
  Grants(1, 0, 2);
  StartAgent();
  RunFor(seconds(5));
  int final = 0;
  for (const SyncRequest& sync : link_.syncs) {
    for (const Settlement& settlement : sync.settlements) final += settlement.final.Count();
  }
  EXPECT_EQ(final, 2);
}

}  // namespace
}  // namespace tidemill
