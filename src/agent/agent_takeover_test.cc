// SPDX-License-Identifier: Apache-2.0
// What an earlier life of the agent has left running.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent_test.h"
#include "agent/run_tag.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class AgentTakeoverTest : public AgentTest {
 protected:
  // A container of the job with one run that takes five seconds, and others that wait behind it.
  FakeFound Container(JobId job, const std::vector<ItemKey>& keys) {
    FakeFound found;
    found.spec.job = job;
    found.spec.limits = {1000, 0};
    for (const ItemKey& key : keys) {
      ItemRun run;
      run.number = ++last_;
      run.tag = FormatRunTag({key, 0});
      found.runs.push_back(run);
    }
    return found;
  }
  void Play() {
    play_.run = [this](const ItemRun& run) {
      begun_.push_back(run.tag);
      return FakeRun{.takes = seconds(5)};
    };
  }
  int Begun(const ItemKey& key) const {
    return static_cast<int>(std::count(begun_.begin(), begun_.end(), FormatRunTag({key, 0})));
  }
  int Settled() const {
    int settled = 0;
    for (const SyncRequest& sync : link_.syncs) {
      for (const Settlement& settlement : sync.settlements) settled += settlement.ok.Count();
    }
    return settled;
  }

  std::uint64_t last_ = 40;
  std::vector<std::string> begun_;
};

TEST_F(AgentTakeoverTest, GoesOnWithWhatItsLeasesOwe) {
  Play();
  Grants(1, 0, 3);
  play_.found = {Container({1}, {{{1, 1}, 0}, {{1, 1}, 1}})};
  StartAgent();
  RunFor(seconds(30));
  EXPECT_EQ(log_.CountOf("container.adopted"), 1);
  // The two that ran are not begun again, and the third begins beside them.
  for (int offset = 0; offset < 3; ++offset) EXPECT_EQ(Begun({{1, 1}, offset}), 1) << offset;
  EXPECT_EQ(Settled(), 3);
  EXPECT_EQ(logs_.resumed, (std::set<std::int64_t>{0, 1}));
}

TEST_F(AgentTakeoverTest, WaitsForTheItemsOfItsLeases) {
  Play();
  Grants(1, 0, 1);
  play_.found = {Container({1}, {{{1, 1}, 0}})};
  link_.items_away = true;
  StartAgent();
  RunFor(seconds(20));
  EXPECT_EQ(log_.CountOf("container.adopted"), 0);
  EXPECT_EQ(Settled(), 0);
  link_.items_away = false;
  RunFor(seconds(60));
  EXPECT_EQ(log_.CountOf("container.adopted"), 1);
  EXPECT_EQ(Settled(), 1);
}

TEST_F(AgentTakeoverTest, EndsWhatIsNobodysAnyMore) {
  Play();
  Grants(1, 0, 1);
  play_.found = {Container({2}, {{{9, 9}, 0}}), Container({1}, {{{9, 9}, 0}})};
  StartAgent();
  RunFor(seconds(3));
  EXPECT_EQ(log_.CountOf("container.adopted"), 0);
  EXPECT_EQ(engine_->containers(), 1U);  // that of the one item
  RunFor(seconds(30));
  EXPECT_EQ(Begun({{9, 9}, 0}), 0);
  EXPECT_EQ(Settled(), 1);
}

TEST_F(AgentTakeoverTest, StopsARunThatIsNotItsOwnBesideOneThatIs) {
  Play();
  Grants(1, 0, 2);
  play_.found = {Container({1}, {{{1, 1}, 0}, {{9, 9}, 0}, {{1, 1}, 1}})};
  StartAgent();
  RunFor(seconds(30));
  EXPECT_EQ(log_.CountOf("container.adopted"), 1);
  EXPECT_EQ(Settled(), 2);
  EXPECT_EQ(Begun({{9, 9}, 0}), 0);
}

TEST_F(AgentTakeoverTest, TellsNothingOfWhatIsNotItsOwn) {
  play_.run = [](const ItemRun&) { return FakeRun{.takes = seconds(5), .log = "a word\n"}; };
  play_.stopping = seconds(1);
  Grants(1, 7, 1);
  play_.found = {Container({1}, {{{9, 9}, 3}, {{1, 1}, 7}})};
  StartAgent();
  RunFor(seconds(30));
  EXPECT_EQ(log_.CountOf("container.adopted"), 1);
  EXPECT_EQ(Settled(), 1);
  EXPECT_EQ(logs_.text, (std::map<std::int64_t, std::string>{{7, "a word\n"}}));
}

TEST_F(AgentTakeoverTest, WhatIsLeftHasItsShareOfTheMachine) {
  Play();
  Grants(1, 0, 8);
  play_.found = {Container({1}, {{{1, 1}, 0}}), Container({1}, {{{1, 1}, 1}})};
  StartAgent();
  RunFor(seconds(4));
  EXPECT_LE(engine_->containers(), 4U);  // of four processors
  RunFor(seconds(60));
  EXPECT_EQ(Settled(), 8);
}

}  // namespace
}  // namespace tidemill
