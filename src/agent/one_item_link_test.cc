// SPDX-License-Identifier: Apache-2.0
#include "agent/one_item_link.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/agent_testing.h"
#include "agent/outputs_here.h"
#include "agent/played_data.h"
#include "base/virtual_loop.h"
#include "engine/fake/fake_engine.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// A real agent, whose servers are one lease.
class OneItemLinkTest : public ::testing::Test {
 protected:
  OneItemLinkTest() {
    item_.job.id = {7};
    item_.job.spec.name = "render";
    item_.job.spec.document = R"({"command":["render","{item}"]})";
    item_.job.items = 12;
    item_.item = 3;
    play_.run = [this](const ItemRun& run) {
      runs_.push_back(run);
      return fake_;
    };
  }

  // What became of it within a while.
  std::optional<OneEnd> Run(Duration time = seconds(60)) {
    const auto over = [this](OneEnd end) {
      EXPECT_FALSE(end_);
      end_ = std::move(end);
    };
    const auto waits = [this](const std::string& text) { waits_ = text; };
    link_.emplace(loop_, random_, item_, OneItemLink::Listener{over, waits});
    FakeEngine engine(loop_, play_);
    AgentOptions options;
    options.machine = "here";
    options.shape = {4000, 8LL << 30};
    Agent agent({loop_, *link_, engine, random_, log_, logs_, memory_, data_}, options);
    agent.Start();
    bool is_over = false;
    loop_.After(time, [&is_over] { is_over = true; });
    while (!is_over) loop_.Step();
    return end_;
  }

  bool Has(const std::string& variable) const {
    const auto& env = runs_.at(0).env;
    return std::find(env.begin(), env.end(), variable) != env.end();
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  TestLogs logs_;
  TestMemory memory_;
  TestLog log_;
  ItemData* data_ = nullptr;
  FakeEngine::Play play_;
  FakeRun fake_;
  OneItem item_;
  std::optional<OneItemLink> link_;
  std::vector<ItemRun> runs_;
  std::optional<OneEnd> end_;
  std::string waits_;
};

TEST_F(OneItemLinkTest, AnItemIsWhatItIsInItsJob) {
  item_.text = "a.blend";
  item_.round = 2;
  item_.attempt = 4;
  fake_.exit = 3;
  const auto end = Run();
  ASSERT_EQ(runs_.size(), 1U);
  EXPECT_EQ(runs_[0].command.value(), (std::vector<std::string>{"render", "a.blend"}));
  for (const char* variable : {"TIDEMILL_ITEM=a.blend", "TIDEMILL_INDEX=3", "TIDEMILL_COUNT=12",
                               "TIDEMILL_JOB=render-7", "TIDEMILL_ATTEMPT=4"}) {
    EXPECT_TRUE(Has(variable)) << variable;
  }
  ASSERT_TRUE(end && end->outcome);
  EXPECT_EQ(end->outcome->cause, Cause::kFailed);
  EXPECT_EQ(end->outcome->exit, 3);
  EXPECT_EQ(end->outcome->item, 3);
  EXPECT_EQ(end->outcome->attempt, 4);
}

TEST_F(OneItemLinkTest, ItIsRunOnceWhateverItsRetries) {
  item_.job.spec.document = R"({"command":["render"],"retries":5})";
  fake_.exit = 1;
  ASSERT_TRUE(Run(seconds(600)));
  EXPECT_EQ(runs_.size(), 1U);
  EXPECT_TRUE(Has("TIDEMILL_ITEM=3"));
}

TEST_F(OneItemLinkTest, ItHasTheMemoryOfItsAttempt) {
  item_.job.spec.document = R"({"command":["render"],"resources":{"memory":"1GiB"}})";
  item_.memory_bytes = 256 << 20;
  fake_.memory_bytes = 300 << 20;
  const auto end = Run();
  ASSERT_TRUE(end && end->outcome);
  EXPECT_EQ(end->outcome->cause, Cause::kOutOfMemory);
}

TEST_F(OneItemLinkTest, ItsSecretsAreMasked) {
  item_.job.spec.document = R"({"command":["render"],"secrets":[{"name":"key","env":"KEY"}]})";
  item_.secrets = {{"key", "correct horse"}};
  fake_.log = "it is correct horse\n";
  ASSERT_TRUE(Run());
  EXPECT_TRUE(Has("KEY=correct horse"));
  EXPECT_EQ(logs_.text.at(3), "it is ***\n");
}

TEST_F(OneItemLinkTest, WhatCannotBeginSaysWhy) {
  play_.open = [](const ContainerSpec&) -> Result<void> {
    return Fail(Code::kInvalid, "no such image");
  };
  const auto end = Run();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->outcome);
  EXPECT_EQ(end->reason, "no such image");
}

TEST_F(OneItemLinkTest, WhatOthersMightTryAgainSaysWhyToo) {
  play_.open = [](const ContainerSpec&) -> Result<void> {
    return Fail(Code::kUnavailable, "the engine is busy");
  };
  const auto end = Run(seconds(120));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->reason, "the engine is busy");
}

TEST_F(OneItemLinkTest, APullThatTakesLongIsTold) {
  play_.opening = seconds(30);
  play_.pull_state = [](const std::string&) { return "pulling its image: 40 %"; };
  const auto end = Run(seconds(120));
  ASSERT_TRUE(end && end->outcome);
  EXPECT_EQ(waits_, "pulling its image: 40 %");
}

TEST_F(OneItemLinkTest, WhatDoesNotFitSaysSo) {
  item_.job.spec.document = R"({"command":["render"],"resources":{"cpus":5}})";
  const auto end = Run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->reason, "this machine has no room for it");
}

TEST_F(OneItemLinkTest, ARoleIsForTheFleet) {
  item_.job.spec.document = R"({"command":["render"],"role":"arn:aws:iam::123456789012:role/r"})";
  const auto end = Run();
  ASSERT_TRUE(end);
  EXPECT_NE(end->reason.find("role"), std::string::npos) << end->reason;
}

TEST_F(OneItemLinkTest, AnEngineThatIsNotUpGetsNothing) {
  play_.recover = [] { return Result<void>(Fail(Code::kUnavailable, "no Docker")); };
  EXPECT_FALSE(Run());
  EXPECT_FALSE(link_->given());
}

TEST(OutputsHere, KeepsTheNameBelowTheFolder) {
  EXPECT_EQ(HereUrl("/o", "s3://bucket/a/b.png"), "file:///o/bucket/a/b.png");
  EXPECT_EQ(HereUrl("/o", "file:///data/b/"), "file:///o/data/b/");
}

TEST(OutputsHere, WritesWhateverIsThere) {
  class Seen : public PlayedData {
   public:
    using PlayedData::PlayedData;
    void Store(const DataPlace&, DataWork work, OutputOwner, Done<void>) override {
      stored = std::move(work);
    }
    DataWork stored;
  };
  SeededRandom random(1);
  VirtualLoop loop(random);
  Seen data(loop);
  OutputsHere here(loop, data, "/o");
  DataWork work;
  work.inputs = {{"", "s3://bucket/in"}};
  work.outputs = {{"", DataOutput::Kind::kFile, "s3://bucket/out", ""}};
  here.Store({}, work, {}, {});
  EXPECT_EQ(data.stored.inputs, work.inputs);
  EXPECT_EQ(data.stored.outputs.at(0).url, "file:///o/bucket/out");
  EXPECT_EQ(data.stored.exists, OutputExists::kReplace);
  std::optional<bool> exist;
  here.Exist(work, [&exist](const Result<bool>& answer) { exist = *answer; });
  while (!exist && loop.Step()) {
  }
  EXPECT_EQ(exist, false);
}

}  // namespace
}  // namespace tidemill
