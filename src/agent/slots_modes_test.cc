// SPDX-License-Identifier: Apache-2.0
// Containers for one run, and containers of a loop, whose runs end in any order.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent_testing.h"
#include "agent/hand_engine.h"
#include "agent/slots.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

struct Told : SlotEvents {
  void OnItemLog(const Attempt& attempt, std::string_view bytes) override {
    logs.push_back(std::to_string(attempt.item) + ":" + std::string(bytes));
  }
  void OnItemProgress(const Attempt&, std::int32_t, std::string_view) override { ++progress; }
  void OnItemEnd(const Attempt& attempt, const ItemEnd&, StopWhy why) override {
    ends.push_back(attempt.item);
    whys.push_back(why);
  }
  void OnItemsLost(const std::vector<Attempt>& attempts, const std::string&) override {
    lost = attempts;
  }
  void OnOpenFailed(JobId, const Error&) override {}
  void OnOpened(JobId) override {}
  void OnRoom() override {}

  std::vector<std::string> logs;
  int progress = 0;
  std::vector<std::int64_t> ends;
  std::vector<StopWhy> whys;
  std::vector<Attempt> lost;
};

class SlotsModesTest : public ::testing::Test {
 protected:
  SlotsModesTest() {
    slots_.Start();
    RunFor();
  }

  void RunFor(Duration time = std::chrono::milliseconds(1)) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  void Want(bool loop, bool once, int count) {
    Slots::Wish wish;
    wish.spec.job = kNeed.job;
    wish.spec.loop = loop;
    wish.once = once;
    wish.program.command = {"serve"};
    wish.program.grace = std::chrono::seconds(5);
    for (int i = 0; i < count; ++i) {
      slots_.Want(
          kNeed.job, {1000, 0}, count, [&wish] { return wish; }, [](const Need&) { return true; });
      RunFor();
    }
  }
  void Run(std::int64_t item, bool alone = false) {
    Attempt attempt;
    attempt.item = item;
    attempt.key.offset = static_cast<int>(item);
    attempt.alone = alone;
    slots_.Run(attempt, kNeed, kDepth, {});
  }
  static constexpr Need kNeed{{1}, 0};
  static constexpr int kDepth = 4;
  static AgentOptions Options() {
    AgentOptions options;
    options.shape = {2000, 0};
    return options;
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  const AgentOptions options_ = Options();
  HandEngine engine_{loop_};
  TestLink link_{loop_};
  TestLog log_;
  TestLogs logs_;
  TestMemory memory_;
  AgentDeps deps_{loop_, link_, engine_, random_, log_, logs_, memory_};
  Told told_;
  Slots slots_{deps_, options_, told_};
};

TEST_F(SlotsModesTest, AContainerForOneRunEndsWithIt) {
  Want(false, true, 9);
  ASSERT_EQ(engine_.made.size(), 2U);
  EXPECT_EQ(engine_.made[0]->program.command, std::nullopt);
  ASSERT_TRUE(slots_.HasPlace(kNeed, kDepth));
  Run(1);
  Run(2);
  EXPECT_FALSE(slots_.HasPlace(kNeed, kDepth));
  engine_.made[0]->End(0);
  EXPECT_EQ(told_.ends, std::vector<std::int64_t>{1});
  EXPECT_EQ(engine_.made.size(), 1U);
  Want(false, true, 9);
  EXPECT_EQ(engine_.made.size(), 2U);
  EXPECT_TRUE(slots_.HasPlace(kNeed, kDepth));
}

TEST_F(SlotsModesTest, ALoopHasItsProgramAndEndsItsRunsInAnyOrder) {
  Want(true, false, 1);
  ASSERT_EQ(engine_.made.size(), 1U);
  auto* container = engine_.made[0];
  EXPECT_EQ(*container->program.command, std::vector<std::string>{"serve"});
  for (int i = 1; i <= 4; ++i) Run(i);
  EXPECT_FALSE(slots_.HasPlace(kNeed, kDepth));
  container->events.OnLog(container->runs[2].number, "hello");
  container->events.OnLog(99, "nobody's");
  EXPECT_EQ(told_.logs, std::vector<std::string>{"3:hello"});
  container->End(2);  // leaves 1, 2, 4
  container->End(0);  // leaves 2, 4
  Run(5);
  container->End(2);
  EXPECT_EQ(told_.ends, (std::vector<std::int64_t>{3, 1, 5}));
  slots_.StopIf(StopWhy::kLeaseGone, [](const ItemKey& key) { return key.offset == 4; });
  EXPECT_EQ(container->stopped, std::vector<std::uint64_t>{container->runs[1].number});
  container->End(1);
  EXPECT_EQ(told_.whys.back(), StopWhy::kLeaseGone);
  container->events.OnGone("killed");
  ASSERT_EQ(told_.lost.size(), 1U);
  EXPECT_EQ(told_.lost[0].item, 2);
}

TEST_F(SlotsModesTest, ALoopWithoutWorkHearsThatNoMoreWillCome) {
  Want(true, false, 1);
  Run(1);
  engine_.made[0]->End(0);
  RunFor(std::chrono::seconds(11));
  slots_.CloseIdle();
  ASSERT_EQ(engine_.made.size(), 1U);
  EXPECT_TRUE(engine_.made[0]->no_more);
  EXPECT_FALSE(slots_.HasPlace(kNeed, kDepth));
  engine_.made[0]->events.OnGone("as it should");
  EXPECT_EQ(engine_.made.size(), 0U);
  EXPECT_EQ(log_.CountOf("container.gone"), 0);

  // One that does not end has had its time.
  Want(true, false, 1);
  RunFor(std::chrono::seconds(11));
  slots_.CloseIdle();
  RunFor(std::chrono::seconds(11));
  slots_.CloseIdle();
  EXPECT_EQ(engine_.made.size(), 1U);
  RunFor(std::chrono::seconds(5));
  slots_.CloseIdle();
  EXPECT_EQ(engine_.made.size(), 0U);
}

TEST_F(SlotsModesTest, OneThatRunsAloneHasAContainerToItself) {
  Want(true, false, 2);
  ASSERT_EQ(engine_.made.size(), 2U);
  Run(1);
  ASSERT_TRUE(slots_.HasPlace(kNeed, kDepth, true));
  Run(2, true);
  EXPECT_EQ(engine_.made[1]->runs.size(), 1U);
  EXPECT_FALSE(slots_.HasPlace(kNeed, kDepth, true));
  for (int i = 3; i <= 5; ++i) Run(i);
  EXPECT_EQ(engine_.made[1]->runs.size(), 1U);
  EXPECT_FALSE(slots_.HasPlace(kNeed, kDepth));
  engine_.made[1]->End(0);
  EXPECT_TRUE(slots_.HasPlace(kNeed, kDepth, true));
  EXPECT_TRUE(slots_.HasPlace(kNeed, kDepth));
}

TEST_F(SlotsModesTest, OutOfOrderOnlyALoopIsBelieved) {
  Want(false, false, 1);
  Run(1);
  Run(2);
  auto* container = engine_.made[0];
  container->events.OnLog(container->runs[1].number, "not yet");
  container->events.OnProgress(container->runs[1].number, 500, "not yet");
  EXPECT_TRUE(told_.logs.empty());
  EXPECT_EQ(told_.progress, 0);
  EXPECT_DEATH(container->End(1), "");
}

TEST_F(SlotsModesTest, AContainerThatIsRetiredGetsNothingMore) {
  Want(false, false, 1);
  Run(1);
  Run(2);
  auto* container = engine_.made[0];
  slots_.Retire(ItemKey{{}, 1}, StopWhy::kDisk);
  EXPECT_EQ(container->stopped.size(), 2U);
  EXPECT_FALSE(slots_.HasPlace(kNeed, kDepth));
  container->End(0);
  EXPECT_EQ(engine_.made.size(), 1U);
  container->End(0);
  EXPECT_EQ(engine_.made.size(), 0U);
  EXPECT_EQ(told_.whys, (std::vector<StopWhy>{StopWhy::kDisk, StopWhy::kMoved}));
}

}  // namespace
}  // namespace tidemill
