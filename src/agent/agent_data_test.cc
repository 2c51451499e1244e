// SPDX-License-Identifier: Apache-2.0
// Inputs before their items, outputs behind them.
#include <algorithm>
#include <string>
#include <vector>

#include "agent/agent_test.h"
#include "agent/played_data.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class AgentDataTest : public AgentTest {
 protected:
  void StartWithData(AgentOptions options = {}) {
    options.machine = "m1";
    options.shape = {4000, 8LL << 30};
    engine_ = std::make_unique<FakeEngine>(loop_, play_);
    agent_ = std::make_unique<Agent>(
        AgentDeps{loop_, link_, *engine_, random_, log_, logs_, memory_, &data_}, options);
    agent_->Start();
  }
  void Grants(int first, int count, const std::string& more = "") {
    link_.documents[{1}] = R"({"command":["x","{input}","{output}"],"resources":{"cpus":1},)"
                           R"("input":"s3://in/{item}","output":"s3://out/{item}")" +
                           more + "}";
    AgentTest::Grants(1, first, count);
  }
  // All outcomes of an item.
  std::vector<Cause> Causes(std::int64_t item) {
    std::vector<Cause> causes;
    for (const Outcome& outcome : link_.outcomes[item]) causes.push_back(outcome.cause);
    return causes;
  }
  int Succeeded() {
    int count = 0;
    for (const auto& [item, all] : link_.outcomes) {
      count += std::count_if(all.begin(), all.end(),
                             [](const Outcome& one) { return one.cause == Cause::kSucceeded; });
    }
    return count;
  }

  PlayedData data_{loop_};
};

TEST_F(AgentDataTest, ItemsGetTheirPathsAndAreToldWhenStored) {
  std::vector<std::vector<std::string>> commands;
  play_.run = [&](const ItemRun& run) {
    commands.push_back(*run.command);
    EXPECT_EQ(link_.outcomes.size(), 0U);
    return FakeRun{};
  };
  StartWithData();
  Grants(3, 1);
  RunFor(seconds(10));
  EXPECT_EQ(Causes(3), std::vector{Cause::kSucceeded});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0], (std::vector<std::string>{"x", "/data/in/1/3", "/data/out/1/3"}));
  ASSERT_EQ(data_.owners.size(), 1U);
  EXPECT_EQ(data_.owners[0].item, 3);
  EXPECT_TRUE(data_.held.empty());
}

TEST_F(AgentDataTest, InputsAreFetchedAheadButNotWithoutBound) {
  StartWithData();
  Grants(0, 60);
  RunFor(seconds(60));
  EXPECT_EQ(Succeeded(), 60);
  EXPECT_GT(data_.most_held, 8U);
  EXPECT_LE(data_.most_held, 4U + 8U + 60U);
  EXPECT_TRUE(data_.held.empty());
}

TEST_F(AgentDataTest, ADiskThatIsFullOfInputsGetsOneAtATime) {
  AgentOptions options;
  options.data_bytes = 1;
  StartWithData(options);
  data_.storing = milliseconds(1);
  Grants(0, 10);
  RunFor(seconds(60));
  EXPECT_EQ(Succeeded(), 10);
  EXPECT_LE(data_.most_held, 6U);  // of what runs, and one ahead
}

TEST_F(AgentDataTest, AnInputThatIsNotThereFailsItsItemAlone) {
  data_.fetch = [](const std::string& url) -> Result<void> {
    if (url == "s3://in/2") return Fail(Code::kNotFound, url + ": no such object");
    return {};
  };
  StartWithData();
  Grants(0, 4);
  RunFor(seconds(20));
  EXPECT_EQ(Succeeded(), 3);
  EXPECT_EQ(Causes(2), std::vector{Cause::kFailed});
  EXPECT_NE(logs_.text[2].find("s3://in/2: no such object"), std::string::npos);
}

TEST_F(AgentDataTest, AStoreThatRefusesTheMachineStopsTheJobHere) {
  data_.fetch = [](const std::string&) -> Result<void> {
    return Fail(Code::kForbidden, "no right to it");
  };
  StartWithData();
  Grants(0, 4);
  RunFor(seconds(20));
  EXPECT_TRUE(link_.outcomes.empty());
  EXPECT_EQ(link_.given_back, 4);
  ASSERT_FALSE(link_.troubles.empty());
  EXPECT_NE(link_.troubles[0].reason.find("no right to it"), std::string::npos);
  EXPECT_TRUE(data_.held.empty());
}

TEST_F(AgentDataTest, OutputsAreTriedAgainUntilTheStoreIsBack) {
  int down = 5;
  data_.store = [&down](std::int64_t) -> Result<void> {
    if (down-- > 0) return Fail(Code::kUnavailable, "no answer");
    return {};
  };
  StartWithData();
  Grants(0, 1);
  RunFor(seconds(60));
  EXPECT_EQ(Causes(0), std::vector{Cause::kSucceeded});
  EXPECT_EQ(data_.stores, 6);
}

TEST_F(AgentDataTest, AStoreThatStaysAwayCostsNoRetry) {
  data_.store = [](std::int64_t) -> Result<void> { return Fail(Code::kUnavailable, "no answer"); };
  StartWithData();
  Grants(0, 1);
  RunFor(minutes(11));
  EXPECT_EQ(Causes(0), std::vector{Cause::kMachineFault});
  EXPECT_TRUE(data_.held.empty());
}

TEST_F(AgentDataTest, AnOutputThatIsNotAsPromisedIsToldAsThat) {
  data_.store = [](std::int64_t) -> Result<void> {
    return Fail(Code::kInvalid, "its output 'x' is missing");
  };
  StartWithData();
  Grants(0, 1);
  RunFor(seconds(10));
  EXPECT_EQ(Causes(0), std::vector{Cause::kRejectedOutput});
  EXPECT_NE(logs_.text[0].find("is missing"), std::string::npos);
}

TEST_F(AgentDataTest, OnlyWhatSucceededIsStored) {
  play_.run = [](const ItemRun&) { return FakeRun{.exit = 3}; };
  StartWithData();
  Grants(0, 1);
  RunFor(seconds(10));
  EXPECT_EQ(Causes(0), std::vector{Cause::kFailed});
  EXPECT_EQ(data_.stores, 0);
  EXPECT_TRUE(data_.held.empty());
}

TEST_F(AgentDataTest, AnItemWhoseOutputIsThereIsNotRun) {
  int runs = 0;
  play_.run = [&runs](const ItemRun&) {
    ++runs;
    return FakeRun{};
  };
  data_.exist = [](const std::string& url) { return url == "s3://out/1"; };
  StartWithData();
  Grants(0, 3, R"(,"skip":"existing")");
  RunFor(seconds(20));
  EXPECT_EQ(Succeeded(), 3);
  EXPECT_EQ(runs, 2);
}

TEST_F(AgentDataTest, WhatIsStagedForALeaseThatIsGoneIsForgotten) {
  data_.fetching = seconds(5);
  StartWithData();
  Grants(0, 4);
  RunFor(seconds(2));
  EXPECT_EQ(data_.held.size(), 4U);
  link_.to_drop = {{1, 1}};
  RunFor(seconds(30));
  EXPECT_TRUE(data_.held.empty());
  EXPECT_TRUE(link_.outcomes.empty());
}

TEST_F(AgentDataTest, AnAgentThatLeavesWaitsForItsOutputs) {
  data_.storing = seconds(5);
  StartWithData();
  Grants(0, 1);
  RunFor(seconds(3));
  ASSERT_EQ(data_.stores, 1);
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(20));
  EXPECT_TRUE(left);
  EXPECT_EQ(Causes(0), std::vector{Cause::kSucceeded});
}

TEST_F(AgentDataTest, WhatAnEarlierLifeHasLeftIsRemovedOnce) {
  AgentOptions options;
  options.run = 3;
  StartWithData(options);
  Grants(0, 2);
  RunFor(seconds(20));
  ASSERT_EQ(data_.kept.size(), 1U);
  EXPECT_EQ(data_.kept[0].below, (std::uint64_t{3} << 32) + 1);
  EXPECT_EQ(Succeeded(), 2);
}

}  // namespace
}  // namespace tidemill
