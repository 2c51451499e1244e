// SPDX-License-Identifier: Apache-2.0
#include "engine/process/process_engine.h"

#include <optional>

#include <gtest/gtest.h>

#include "base/beside_test.h"
#include "engine/channel/loop_testing.h"
#include "engine/engine_contract.h"
#include "engine/engine_loop_contract.h"
#include "engine/engine_real_contract.h"
#include "engine/engine_stream_contract.h"

namespace tidemill {
namespace {

class ProcessHolder : public LoopHolder {
 public:
  explicit ProcessHolder(const std::string& folder)
      : engine_(std::make_unique<ProcessEngine>(
            loop_, ProcessEngineOptions{folder, BesideTest("tidemill-init")})) {}
  Engine& engine() override { return *engine_; }
  void DestroyEngine() override { engine_.reset(); }
  ContainerSpec Spec() const override { return {}; }
  ContainerSpec LoopSpec() const override {
    ContainerSpec spec;
    spec.loop = true;
    return spec;
  }
  std::string LoopProbe() const override { return BesideTest("loop-probe"); }

 private:
  std::unique_ptr<ProcessEngine> engine_;
};

const EngineMaker kMake = [](const std::string& folder) {
  return std::make_unique<ProcessHolder>(folder);
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Process, EngineTest, testing::Values(kMake));
INSTANTIATE_TEST_SUITE_P(Process, RealEngineTest, testing::Values(kMake));
INSTANTIATE_TEST_SUITE_P(Process, LoopEngineTest, testing::Values(kMake));
INSTANTIATE_TEST_SUITE_P(Process, StreamEngineTest, testing::Values(kMake));

namespace {

class ProcessSecretsTest : public RealEngineTest {
 protected:
  // The folder of the secrets of a run that goes on, from what it wrote.
  std::string RunOneThatStays() {
    ItemRun run = Shell(1, "echo $TIDEMILL_SECRETS; sleep 1000; true");
    run.secret_files = {{"a", "canary"}};
    container_->Run(run);
    holder().RunUntil([&] { return LogOf(1).ends_with("\n"); });
    return LogOf(1).substr(0, LogOf(1).size() - 1);
  }
};

INSTANTIATE_TEST_SUITE_P(Process, ProcessSecretsTest, testing::Values(kMake));

TEST_P(ProcessSecretsTest, AreRemovedWithTheirContainerHoweverItEnds) {
  for (const bool kill_init : {false, true}) {
    events_ = {};
    OpenForSecrets();
    const std::filesystem::path folder = RunOneThatStays();
    EXPECT_TRUE(folder.string().starts_with("/dev/shm/tidemill-")) << folder;
    EXPECT_TRUE(std::filesystem::exists(folder / "a"));
    if (kill_init) {
      const pid_t init = Init();
      ASSERT_GT(init, 1);
      ASSERT_EQ(kill(init, SIGKILL), 0);
      holder().RunUntil([&] { return !events_.gone.empty(); });
    }
    container_.reset();
    RunUntilNothingIsLeft();
    EXPECT_FALSE(std::filesystem::exists(folder.parent_path()));
  }
}

// Neither the agent nor init had a chance to clean up.
TEST_P(ProcessSecretsTest, AreRemovedByTheNextAgent) {
  OpenForSecrets();
  const std::filesystem::path folder = RunOneThatStays();
  const std::string name = folder.parent_path().filename().string().substr(9);
  container_.reset();
  holder_.reset();
  ASSERT_FALSE(std::filesystem::exists(folder));
  std::filesystem::create_directories(folder_ + "/containers/" + name);
  std::filesystem::create_directories(folder);
  holder_ = GetParam()(folder_);
  Recover();
  holder().RunUntil([&] { return !std::filesystem::exists(folder.parent_path()); });
  EXPECT_FALSE(std::filesystem::exists(folder.parent_path()));
}

TEST(PlainArgv, IsTheEntrypointAndThenTheCommand) {
  ItemRun run;
  run.command = std::vector<std::string>{"b", "c"};
  EXPECT_EQ(*PlainArgv(run), (std::vector<std::string>{"b", "c"}));
  run.entrypoint = std::vector<std::string>{"a"};
  EXPECT_EQ(*PlainArgv(run), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(PlainArgv(ItemRun{}).error().code, Code::kInvalid);
}

TEST(ProcessEngine, SaysWhyNoContainerCanBeOpened) {
  LoopRunner runner;
  ProcessEngine engine(runner.loop(), {"/proc/none", BesideTest("tidemill-init")});
  ProcessEngine without_init(runner.loop(), {testing::TempDir(), "/no/such/init"});
  RecordedEvents events;
  for (Engine* each : {&engine, &without_init}) {
    std::optional<Result<std::unique_ptr<Container>>> opened;
    each->Open({}, events, [&](auto got) { opened = std::move(got); });
    EXPECT_FALSE(opened);
    runner.RunUntil([&] { return opened.has_value(); });
    EXPECT_EQ(opened->error().code, Code::kUnavailable);
    EXPECT_NE(opened->error().reason.find("cannot"), std::string::npos);
  }
}

}  // namespace
}  // namespace tidemill
