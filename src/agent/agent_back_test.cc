// SPDX-License-Identifier: Apache-2.0
// What an agent gives back because a server asks for it, and what it tells of times.
#include "agent/agent_test.h"
#include "agent/played_data.h"
#include "agent/run_tag.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class AgentBackTest : public AgentTest {
 protected:
  // All that was measured of job 1.
  Measured Told() const {
    Measured all;
    for (const SyncRequest& sync : link_.syncs) {
      for (const Measured& one : sync.measured) {
        EXPECT_EQ(one.job, JobId{1});
        all.items += one.items;
        all.run_ms += one.run_ms;
        all.squares += one.squares;
        all.lost_ms += one.lost_ms;
      }
    }
    return all;
  }
  // A server has something to say.
  void Wake() {
    ASSERT_TRUE(link_.waits);
    link_.waits(true);
  }
};

// Its machine has four slots.
TEST_F(AgentBackTest, RunsNoMoreOfAJobThanItsLimitAndSaysThatTheRestIsFree) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(10)}; };
  link_.limits = {{{1}, 3}};
  Grants(1, 0, 30);
  StartAgent();
  RunFor(seconds(2));
  EXPECT_EQ(engine_->containers(), 3U);
  EXPECT_EQ(link_.syncs.back().free.millicpus, 1000);
  // A lower limit comes true as items end, a higher one at once.
  link_.limits = {{{1}, 1}};
  Wake();
  RunFor(seconds(2));
  EXPECT_EQ(link_.syncs.back().free.millicpus, 1000) << "three have begun";
  RunFor(seconds(20));
  const std::size_t ended = link_.outcomes.size();
  EXPECT_EQ(link_.syncs.back().free.millicpus, 3000);
  RunFor(seconds(20));
  EXPECT_EQ(link_.outcomes.size(), ended + 2) << "one at a time";
  EXPECT_EQ(link_.given_back, 0);
  link_.limits = {{{1}, 4}};
  Wake();
  RunFor(seconds(12));
  EXPECT_EQ(engine_->containers(), 4U);
}

TEST_F(AgentBackTest, AContainerBeyondTheLimitMakesWayForAnotherJob) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(1)}; };
  Grants(1, 0, 90);
  StartAgent();
  RunFor(seconds(2));
  EXPECT_EQ(engine_->containers(), 4U);
  link_.limits = {{{1}, 2}, {{2}, 2}};
  Grants(2, 90, 10, {2});
  Wake();
  RunFor(seconds(6));
  EXPECT_EQ(engine_->containers(), 4U);
  const auto others = std::distance(link_.outcomes.lower_bound(90), link_.outcomes.end());
  EXPECT_GE(others, 4);
}

TEST_F(AgentBackTest, AJobWhoseImageCannotBePulledKeepsNoOtherFromBeginning) {
  play_.open = [](const ContainerSpec& spec) -> Result<void> {
    if (spec.job == JobId{1}) return Fail(Code::kUnavailable, "no route to the registry");
    return {};
  };
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(10)}; };
  Grants(1, 0, 10, {1});
  StartAgent();
  // By now it is tried as rarely as it ever is.
  RunFor(seconds(20));
  EXPECT_EQ(link_.syncs.back().free.millicpus, 4000);
  Grants(2, 10, 4, {2});
  Wake();
  RunFor(seconds(1));
  EXPECT_EQ(engine_->containers(), 4U);
}

// Else all jobs would lose their part of all machines whose engine starts again.
TEST_F(AgentBackTest, AnEngineThatFailsForAMomentIsNoTroubleOfAJob) {
  bool fails = true;
  play_.open = [&fails](const ContainerSpec&) -> Result<void> {
    if (fails) return Fail(Code::kUnavailable, "it starts");
    return {};
  };
  const auto has_trouble = [this] {
    const auto jobs = link_.last_status().jobs;
    return std::any_of(jobs.begin(), jobs.end(), [](const auto& use) { return use.trouble != ""; });
  };
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(1)}; };
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(4));
  EXPECT_FALSE(has_trouble());
  RunFor(seconds(10));
  EXPECT_TRUE(has_trouble());
  fails = false;
  RunFor(seconds(10));
  EXPECT_EQ(engine_->containers(), 4U);
}

TEST_F(AgentBackTest, GivesBackAtOnceWhatItHasNotBegunAndRunsOn) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(1)}; };
  Grants(1, 0, 10);
  StartAgent();
  RunFor(seconds(20));
  EXPECT_EQ(link_.given_back, 0);
  link_.back = {{1}};
  Wake();
  RunFor(seconds(2));
  EXPECT_EQ(link_.given_back, 6);
  EXPECT_EQ(link_.given_begun, 0);
  EXPECT_EQ(link_.outcomes.size(), 0U);
  // It is told again and again, and there is nothing more to give.
  const auto syncs = link_.syncs.size();
  RunFor(seconds(30));
  EXPECT_LE(link_.syncs.size(), syncs + 5);
  // What ran goes on to its end; then there is room, and it asks at once.
  RunFor(seconds(15));
  ASSERT_EQ(link_.outcomes.size(), 4U);
  for (const auto& [item, outcomes] : link_.outcomes) {
    EXPECT_EQ(outcomes[0].cause, Cause::kSucceeded) << item;
  }
  EXPECT_EQ(link_.given_back, 6);
  EXPECT_EQ(link_.syncs.back().free.millicpus, 4000);
}

TEST_F(AgentBackTest, GivesBackNothingOfOtherJobs) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(1)}; };
  Grants(1, 0, 10);
  link_.back = {{2}};
  StartAgent();
  RunFor(seconds(20));
  EXPECT_EQ(link_.given_back, 0);
}

// What an earlier life has left running is not known to run until it is found.
TEST_F(AgentBackTest, WaitsUntilItKnowsWhatRunsAlready) {
  FakeFound found;
  found.spec.job = {1};
  found.spec.limits = {1000, 2LL << 30};
  ItemRun run;
  run.tag = FormatRunTag({{{1, 1}, 0}, 0});
  found.runs = {run};
  play_.found = {found};
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(30)}; };
  Grants(1, 0, 1);
  link_.back = {{1}};
  StartAgent();
  RunFor(minutes(2));
  EXPECT_EQ(link_.given_back, 0);
  ASSERT_EQ(link_.outcomes.size(), 1U);
  EXPECT_EQ(link_.outcomes[0][0].cause, Cause::kSucceeded);
}

TEST_F(AgentBackTest, GivesBackWhatIsStagedToo) {
  PlayedData data(loop_);
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(1)}; };
  link_.documents[{1}] = R"({"command":["x","{input}"],"resources":{"cpus":4},)"
                         R"("input":"s3://in/{item}"})";
  Grants(1, 0, 5);
  AgentOptions options;
  options.machine = "m1";
  options.shape = {4000, 8LL << 30};
  engine_ = std::make_unique<FakeEngine>(loop_, play_);
  agent_ = std::make_unique<Agent>(
      AgentDeps{loop_, link_, *engine_, random_, log_, logs_, memory_, &data}, options);
  agent_->Start();
  RunFor(seconds(20));
  EXPECT_GT(data.held.size(), 1U);  // that of the one that runs, and of the next
  link_.back = {{1}};
  Wake();
  RunFor(seconds(2));
  EXPECT_EQ(link_.given_back, 4);
  EXPECT_EQ(data.held.size(), 1U);
  agent_.reset();
}

TEST_F(AgentBackTest, TellsTheSquaresOfWhatSucceeded) {
  play_.run = [](const ItemRun& run) {
    const auto tag = ParseRunTag(run.tag);
    if (tag->key.offset == 0) return FakeRun{.takes = seconds(2)};
    if (tag->key.offset == 1) return FakeRun{.takes = seconds(3)};
    return FakeRun{.takes = seconds(5), .exit = 1};
  };
  Grants(1, 0, 3);
  StartAgent();
  RunFor(seconds(30));
  const Measured told = Told();
  EXPECT_EQ(told.items, 3);
  EXPECT_EQ(told.run_ms, 10'000);
  EXPECT_DOUBLE_EQ(told.squares, 4.0 + 9.0);
  EXPECT_EQ(told.lost_ms, 0);
}

TEST_F(AgentBackTest, TellsWhatWasNotHeardAgain) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(2)}; };
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(2));
  link_.down = true;
  RunFor(seconds(20));
  link_.syncs.clear();
  link_.down = false;
  RunFor(seconds(30));
  EXPECT_EQ(Told().items, 1);
  EXPECT_DOUBLE_EQ(Told().squares, 4.0);
}

TEST_F(AgentBackTest, TellsTheTimeOfWhatWasInterrupted) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(5)}; };
  Grants(1, 0, 6);
  StartAgent();
  RunFor(seconds(10));
  bool left = false;
  agent_->Leave([&left] { left = true; });
  RunFor(seconds(1));
  EXPECT_TRUE(left);
  const Measured told = Told();
  EXPECT_EQ(told.items, 0);
  EXPECT_EQ(told.run_ms, 0);
  // Four of them, from when their containers were open.
  EXPECT_GT(told.lost_ms, 4 * 9'000);
  EXPECT_LT(told.lost_ms, 4 * 10'000);
}

TEST_F(AgentBackTest, TellsTheTimeOfWhatDidNotEndWhenItLeft) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(9)}; };
  play_.stopping = minutes(5);
  link_.documents[{1}] = R"({"command":["true"],"resources":{"cpus":4}})";
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(10));
  agent_->Leave([] {});
  RunFor(seconds(16));
  EXPECT_GT(Told().lost_ms, 22'000);  // the agent looks once a second
  EXPECT_LT(Told().lost_ms, 27'000);
}

TEST_F(AgentBackTest, TellsTheTimeOfWhatItsContainerTookAlong) {
  int runs = 0;
  play_.run = [&runs](const ItemRun&) {
    return FakeRun{.takes = seconds(20), .ends_container = ++runs == 1};
  };
  link_.documents[{1}] = R"({"command":["true"],"resources":{"cpus":4}})";
  Grants(1, 0, 1);
  StartAgent();
  RunFor(minutes(1));
  const Measured told = Told();
  EXPECT_EQ(told.items, 1);
  EXPECT_EQ(told.run_ms, 20'000);
  EXPECT_DOUBLE_EQ(told.squares, 400);
  EXPECT_GE(told.lost_ms, 18'000);  // the agent looks once a second
  EXPECT_LE(told.lost_ms, 22'000);
}

}  // namespace
}  // namespace tidemill
