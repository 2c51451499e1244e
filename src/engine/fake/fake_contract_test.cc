// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/virtual_loop.h"
#include "engine/engine_contract.h"
#include "engine/fake/fake_engine.h"

namespace tidemill {
namespace {

class FakeHolder : public EngineHolder {
 public:
  FakeHolder() {
    FakeEngine::Play play;
    play.run = [](const ItemRun& run) {
      const auto& words = *run.command;
      FakeRun fake{.exit = std::stoi(words[1]), .log = words[0]};
      if (words[2] == "sleeps") fake.takes = std::chrono::hours(1);
      if (words[2] == "shows") fake.log = Shown(run);
      return fake;
    };
    engine_ = std::make_unique<FakeEngine>(loop_, std::move(play));
  }
  Engine& engine() override { return *engine_; }
  void DestroyEngine() override { engine_.reset(); }
  ContainerSpec Spec() const override { return {}; }
  std::vector<std::string> Command(const Play& play) const override {
    const char* more = play.sleeps ? "sleeps" : play.shows ? "shows" : "";
    return {play.print, std::to_string(play.exit), more};
  }
  std::vector<std::string> EchoCommand(int exit) const override {
    return {"exit", std::to_string(exit)};
  }
  void RunUntil(const std::function<bool()>& is_true) override {
    constexpr int kSteps = 100'000;
    for (int i = 0; i < kSteps && !is_true(); ++i) {
      if (!loop_.Step()) break;
    }
    EXPECT_TRUE(is_true());
  }

 private:
  static std::string Shown(const ItemRun& run) {
    for (const SecretFile& file : run.secret_files) {
      if (file.name == "shown") return file.content;
    }
    return "none";
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  std::unique_ptr<FakeEngine> engine_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Fake, EngineTest, testing::Values(EngineMaker([](const std::string&) {
                           return std::make_unique<FakeHolder>();
                         })));

namespace {

TEST(FakeEngine, FindsWhatItsPlaySaysOnce) {
  SeededRandom random(1);
  VirtualLoop loop(random);
  FakeEngine::Play play;
  FakeFound left;
  left.spec.job = {7};
  left.runs.emplace_back().number = 3;
  left.runs.back().tag = "three";
  play.found = {left};
  FakeEngine engine(loop, play);
  std::vector<FoundContainer> found;
  std::size_t times = 0;
  const auto recover = [&] {
    engine.Recover([&](Result<EngineInfo> info) {
      found = std::move(info->found);
      ++times;
    });
    while (loop.Step()) {
    }
  };
  recover();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].spec.job, JobId{7});
  EXPECT_EQ(found[0].runs[0].tag, "three");
  RecordedEvents events;
  const auto container = found[0].adopt(events);
  while (loop.Step()) {
  }
  ASSERT_EQ(events.ends.size(), 1U);
  EXPECT_EQ(events.ends[0].number, 3U);
  recover();
  EXPECT_EQ(times, 2U);
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace tidemill
