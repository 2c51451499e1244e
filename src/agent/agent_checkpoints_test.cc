// SPDX-License-Identifier: Apache-2.0
// Checkpoints are saved while an item runs, and before its end is told.
#include <string>
#include <vector>

#include "agent/agent_test.h"
#include "agent/played_data.h"

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class AgentCheckpointsTest : public AgentTest {
 protected:
  void StartWithData(AgentOptions options = {}) {
    options.machine = "m1";
    options.shape = {4000, 8LL << 30};
    link_.objects = "s3://ours";
    link_.documents[{1}] =
        R"({"command":["x"],"resources":{"cpus":1},"timeout":"10m","checkpoint":{"every":"10s"}})";
    engine_ = std::make_unique<FakeEngine>(loop_, play_);
    agent_ = std::make_unique<Agent>(
        AgentDeps{loop_, link_, *engine_, random_, log_, logs_, memory_, &data_}, options);
    agent_->Start();
  }
  void ItemTakes(Duration time, int exit = 0) {
    play_.run = [time, exit](const ItemRun&) { return FakeRun{.takes = time, .exit = exit}; };
  }

  PlayedData data_{loop_};
};

TEST_F(AgentCheckpointsTest, IsSavedEverySoOftenAndDroppedAfterSuccess) {
  std::vector<std::string> env;
  play_.run = [&](const ItemRun& run) {
    env = run.env;
    return FakeRun{.takes = seconds(35)};
  };
  StartWithData();
  Grants(1, 3, 1);
  RunFor(seconds(60));
  ASSERT_EQ(link_.outcomes[3].size(), 1U);
  EXPECT_EQ(link_.outcomes[3][0].cause, Cause::kSucceeded);
  EXPECT_EQ(data_.saves.size(), 3U) << "after a success none is needed";
  ASSERT_FALSE(env.empty());
  EXPECT_EQ(env.back(), "TIDEMILL_CHECKPOINT=/data/checkpoint/1");
  const CheckpointWork& work = data_.saves.at(0);
  EXPECT_EQ(work.url, "s3://ours/jobs/films/test-1/checkpoints/3/");
  EXPECT_EQ(work.round, 0);
  EXPECT_EQ(work.attempt, 1);
  EXPECT_TRUE(work.writer.ends_with(".1")) << work.writer;
  EXPECT_EQ(data_.dropped, std::vector<std::string>{work.url});
  EXPECT_TRUE(data_.held.empty());
}

TEST_F(AgentCheckpointsTest, AFailureIsToldWhenItsLastIsSaved) {
  data_.save_takes = seconds(20);
  ItemTakes(seconds(2), 3);
  StartWithData();
  Grants(1, 0, 1);
  RunFor(seconds(15));
  EXPECT_TRUE(link_.outcomes.empty());
  EXPECT_EQ(data_.saves.size(), 1U);
  RunFor(seconds(20));
  ASSERT_EQ(link_.outcomes[0].size(), 1U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kFailed);
  EXPECT_EQ(link_.outcomes[0][0].exit, 3);
  EXPECT_TRUE(data_.dropped.empty());
  EXPECT_TRUE(data_.held.empty());
}

TEST_F(AgentCheckpointsTest, TheLastWaitsForTheOneUnderWay) {
  data_.save_takes = seconds(8);
  ItemTakes(seconds(12), 3);
  StartWithData();
  Grants(1, 0, 1);
  RunFor(seconds(60));  // PlayedData sees that there are never two at a time
  EXPECT_EQ(data_.saves.size(), 2U);
  EXPECT_EQ(link_.outcomes[0].size(), 1U);
}

TEST_F(AgentCheckpointsTest, AnAgentThatLeavesSavesFirst) {
  data_.save_takes = seconds(5);
  ItemTakes(minutes(5));
  StartWithData();
  Grants(1, 0, 2);
  RunFor(seconds(4));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(3));
  EXPECT_FALSE(left);
  EXPECT_EQ(data_.saves.size(), 2U);
  EXPECT_TRUE(link_.outcomes.empty());
  RunFor(seconds(5));
  EXPECT_TRUE(left);
  ASSERT_EQ(link_.outcomes.size(), 2U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kInterrupted);
}

TEST_F(AgentCheckpointsTest, ButNotForEver) {
  data_.save_takes = minutes(5);
  ItemTakes(minutes(5));
  StartWithData();
  Grants(1, 0, 1);
  RunFor(seconds(4));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(22));
  EXPECT_FALSE(left);
  RunFor(seconds(3));
  EXPECT_TRUE(left);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kInterrupted);
}

TEST_F(AgentCheckpointsTest, ASaveThatFailsFailsNothing) {
  data_.save = []() -> Result<void> { return Fail(Code::kInvalid, "'a' is a symbolic link"); };
  ItemTakes(seconds(45));
  StartWithData();
  Grants(1, 0, 1);
  RunFor(seconds(60));
  EXPECT_EQ(link_.outcomes[0].at(0).cause, Cause::kSucceeded);
  EXPECT_EQ(logs_.text[0], "tidemill: its checkpoint was not saved: 'a' is a symbolic link\n");
}

TEST_F(AgentCheckpointsTest, WhatChangedMeanwhileIsTriedAgainSoon) {
  int changes = 2;
  data_.save = [&changes]() -> Result<void> {
    if (changes-- > 0) return Fail(Code::kConflict, "'a' changed while it was saved");
    return {};
  };
  ItemTakes(seconds(25));
  StartWithData();
  Grants(1, 0, 1);
  RunFor(seconds(60));
  EXPECT_GE(data_.saves.size(), 3U);
}

TEST_F(AgentCheckpointsTest, NothingIsSavedForALeaseThatIsGone) {
  ItemTakes(minutes(5));
  play_.stopping = seconds(30);
  StartWithData();
  Grants(1, 0, 1);
  RunFor(seconds(5));
  link_.to_drop = {{1, 1}};
  RunFor(seconds(90));
  EXPECT_TRUE(data_.saves.size() <= 1U) << data_.saves.size();
  EXPECT_TRUE(link_.outcomes.empty());
  EXPECT_TRUE(data_.held.empty());
}

}  // namespace
}  // namespace tidemill
