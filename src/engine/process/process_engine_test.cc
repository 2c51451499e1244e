// SPDX-License-Identifier: Apache-2.0
#include "engine/process/process_engine.h"

#include <optional>

#include <gtest/gtest.h>

#include "engine/channel/loop_testing.h"
#include "engine/engine_contract.h"
#include "engine/engine_real_contract.h"

namespace tidemill {
namespace {

class ProcessHolder : public LoopHolder {
 public:
  explicit ProcessHolder(const std::string& folder)
      : engine_(
            std::make_unique<ProcessEngine>(loop_, ProcessEngineOptions{folder, TIDEMILL_INIT})) {}
  Engine& engine() override { return *engine_; }
  void DestroyEngine() override { engine_.reset(); }
  ContainerSpec Spec() const override { return {}; }

 private:
  std::unique_ptr<ProcessEngine> engine_;
};

const EngineMaker kMake = [](const std::string& folder) {
  return std::make_unique<ProcessHolder>(folder);
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Process, EngineTest, testing::Values(kMake));
INSTANTIATE_TEST_SUITE_P(Process, RealEngineTest, testing::Values(kMake));

namespace {

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
  ProcessEngine engine(runner.loop(), {"/proc/none", TIDEMILL_INIT});
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
