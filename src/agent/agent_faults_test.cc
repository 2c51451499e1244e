// SPDX-License-Identifier: Apache-2.0
// What an agent tells of items under way, and what it does when its machine is at fault.
#include <algorithm>
#include <string>

#include "agent/agent_test.h"
#include "agent/hand_engine.h"

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class AgentFaultsTest : public AgentTest {
 protected:
  ~AgentFaultsTest() override { agent_.reset(); }  // before its engine

  // With containers that the test plays.
  void StartByHand(const std::string& document, AgentOptions options = {}) {
    link_.documents[JobId{1}] = document;
    options.machine = "m1";
    options.shape = {4000, 8LL << 30};
    agent_ = std::make_unique<Agent>(AgentDeps{loop_, link_, hand_, random_, log_, logs_, memory_},
                                     options);
    agent_->Start();
    RunFor(seconds(1));
  }
  int CountOf(Cause cause) const {
    int count = 0;
    for (const auto& [item, outcomes] : link_.outcomes) {
      for (const Outcome& outcome : outcomes) count += outcome.cause == cause ? 1 : 0;
    }
    return count;
  }

  HandEngine hand_{loop_};
};

// It goes with a heartbeat, when the last is ten seconds old.
constexpr Duration kTellsItsStatus = seconds(21);

TEST_F(AgentFaultsTest, TellsHowFarTheNewestOfItsItemsAre) {
  Grants(1, 0, 12);
  StartByHand(R"({"command":["serve"],"mode":"loop","resources":{"cpus":4}})");
  auto& container = *hand_.made.at(0);
  ASSERT_EQ(container.runs.size(), 12U);
  for (std::size_t i = 0; i < 10; ++i) {
    container.events.OnProgress(container.runs[i].number, 100, "begins");
    RunFor(std::chrono::milliseconds(1));
  }
  container.events.OnProgress(container.runs[0].number, 5000, std::string(1000, 'x'));
  RunFor(std::chrono::milliseconds(1));
  container.End(9);
  RunFor(kTellsItsStatus);
  const auto progress = link_.last_status().jobs.at(0).progress;
  ASSERT_EQ(progress.size(), 8U);
  EXPECT_EQ(progress[0], (ItemProgress{0, 1000, std::string(100, 'x')}));
  EXPECT_EQ(progress[1], (ItemProgress{8, 100, "begins"}));
  while (!container.runs.empty()) container.End(0);
  RunFor(kTellsItsStatus);
  for (const JobUse& use : link_.last_status().jobs) EXPECT_TRUE(use.progress.empty());
}

TEST_F(AgentFaultsTest, HidesSecretsInWhatItemsSayOfThemselves) {
  link_.secrets = {{"TOKEN", "hunter2!"}};
  Grants(1, 0, 1);
  StartByHand(R"({"command":["true"],"secrets":["TOKEN"]})");
  auto& container = *hand_.made.at(0);
  container.events.OnProgress(container.runs.at(0).number, 100, "it is hunter2! or hunter");
  RunFor(kTellsItsStatus);
  EXPECT_EQ(link_.last_status().jobs.at(0).progress.at(0).note, "it is *** or hunter");
}

TEST_F(AgentFaultsTest, GivesTheEngineTheLoginOfAnImage) {
  link_.secrets = {{"reg", "me:password"}};
  Grants(1, 0, 1);
  StartByHand(R"({"image":"h:5000/a","command":["true"],"image_login":"reg"})");
  EXPECT_EQ(hand_.made.at(0)->spec.login, (RegistryLogin{"me", "password"}));
}

TEST_F(AgentFaultsTest, TellsThatAJobWaitsForItsContainer) {
  play_.opening = seconds(30);
  Grants(1, 0, 2);
  StartAgent();
  RunFor(seconds(15));
  EXPECT_EQ(link_.last_status().jobs.at(0).waits_for, "opening its container");
  RunFor(seconds(30));
  for (const JobUse& use : link_.last_status().jobs) EXPECT_EQ(use.waits_for, "");
}

TEST_F(AgentFaultsTest, TellsHowFarTheImageIsThatAJobWaitsFor) {
  play_.opening = seconds(30);
  play_.pull_state = [](const std::string& image) { return "pulling " + image + ": 1 of 2 MB"; };
  link_.documents[JobId{1}] = R"({"image":"h:5000/a","command":["true"]})";
  Grants(1, 0, 2);
  StartAgent();
  RunFor(seconds(15));
  EXPECT_EQ(link_.last_status().jobs.at(0).waits_for, "pulling h:5000/a: 1 of 2 MB");
  RunFor(seconds(30));
  for (const JobUse& use : link_.last_status().jobs) EXPECT_EQ(use.waits_for, "");
}

TEST_F(AgentFaultsTest, GivesEverythingBackWhenItsDiskIsFullAndStaysAwayIfItStaysSo) {
  int opened = 0;
  bool mended = false;
  play_.run = [](const ItemRun&) { return FakeRun{.takes = minutes(5)}; };
  play_.open = [&opened, &mended](const ContainerSpec&) -> Result<void> {
    if (mended || opened++ == 0) return {};
    return Fail(Code::kUnavailable, "mkdir: no space left on device");
  };
  for (std::uint64_t i = 1; i <= 9; ++i) Grants(i, 0, 8);
  StartAgent();
  RunFor(seconds(8));
  // The first one ran, and cost nothing.
  EXPECT_EQ(link_.given_back, 8);
  EXPECT_EQ(link_.given_begun, 1);
  EXPECT_EQ(CountOf(Cause::kMachineFault), 1);
  EXPECT_EQ(link_.syncs.back().free, (Resources{0, 0}));
  EXPECT_NE(link_.last_status().engine.find("takes no items: mkdir: no space"), std::string::npos);
  EXPECT_EQ(log_.CountOf("machine.fault"), 1);
  // It tries again after a minute, and then not for long.
  RunFor(seconds(65));
  EXPECT_EQ(log_.CountOf("machine.fault"), 2);
  EXPECT_EQ(link_.given_back, 16);
  RunFor(minutes(9));
  EXPECT_EQ(log_.CountOf("machine.fault"), 2);
  EXPECT_EQ(link_.given_back, 16);
  // Somebody has made room.
  mended = true;
  RunFor(minutes(2));
  EXPECT_EQ(log_.CountOf("machine.fault"), 2);
  EXPECT_EQ(engine_->containers(), 4U);
  EXPECT_EQ(link_.last_status().engine, "fake");
  EXPECT_TRUE(link_.troubles.empty());
}

TEST_F(AgentFaultsTest, AnItemThatWritesMoreThanItMayHasFailed) {
  Grants(1, 0, 2);
  StartByHand(R"({"command":["true"],"resources":{"cpus":4,"disk":"2GiB"}})");
  hand_.made.at(0)->use.disk_bytes = 2LL << 30;
  RunFor(seconds(3));
  auto& container = *hand_.made.at(0);
  EXPECT_TRUE(container.stopped.empty());
  container.use.disk_bytes = (2LL << 30) + 1;
  RunFor(seconds(3));
  ASSERT_EQ(container.stopped.size(), 1U);
  container.End(0, ItemEnd::How::kStopped, 143);
  RunFor(seconds(3));
  EXPECT_EQ(link_.outcomes.at(0).at(0).cause, Cause::kFailed);
  EXPECT_EQ(link_.outcomes[0][0].exit, 143);
  EXPECT_EQ(logs_.text[0], "tidemill: it has written more than its disk of 2.0 GiB\n");
  // The next has a container that nobody has written to.
  ASSERT_EQ(hand_.made.size(), 1U);
  EXPECT_EQ(hand_.made[0]->use.disk_bytes, 0);
  EXPECT_EQ(hand_.made[0]->runs.size(), 1U);
}

TEST_F(AgentFaultsTest, OneThatFillsTheDiskHasFailedAndTheOthersHaveNot) {
  std::string trouble;
  AgentOptions options;
  options.disk_trouble = [&trouble] { return trouble; };
  Grants(1, 0, 3);
  StartByHand(R"({"command":["true"],"resources":{"cpus":1}})", options);
  ASSERT_EQ(hand_.made.size(), 3U);
  hand_.made[0]->use.disk_bytes = 100 << 20;
  hand_.made[1]->use.disk_bytes = 900 << 20;
  trouble = "no space left on device";
  RunFor(seconds(2));
  const auto made = hand_.made;
  for (auto* container : made) {
    ASSERT_EQ(container->stopped.size(), 1U);
    container->End(0, ItemEnd::How::kStopped, 143);
  }
  RunFor(seconds(5));
  EXPECT_EQ(CountOf(Cause::kFailed), 1);
  EXPECT_EQ(CountOf(Cause::kMachineFault), 2);
  EXPECT_EQ(link_.given_begun, 2);
  EXPECT_EQ(link_.syncs.back().free.millicpus, 0);
  // The scratch folders are empty again, and so the machine works again.
  trouble.clear();
  RunFor(seconds(70));
  EXPECT_EQ(link_.syncs.back().free.millicpus, 4000);
}

}  // namespace
}  // namespace tidemill
