// SPDX-License-Identifier: Apache-2.0
// Containers for one run, and containers of a loop, whose runs end in any order.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/slots_testing.h"

namespace tidemill {
namespace {

class SlotsModesTest : public HandSlotsTest {};

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

TEST_F(SlotsModesTest, WhatWaitsBehindAnotherCanBeStoppedAlone) {
  Want(false, false, 1);
  for (int i = 1; i <= 3; ++i) Run(i);
  auto* container = engine_.made[0];
  slots_.StopWaiting(StopWhy::kInterrupted);
  EXPECT_EQ(container->stopped,
            (std::vector<std::uint64_t>{container->runs[1].number, container->runs[2].number}));
  for (int i = 1; i <= 3; ++i) container->End(0);
  EXPECT_EQ(told_.whys,
            (std::vector<StopWhy>{StopWhy::kNone, StopWhy::kInterrupted, StopWhy::kInterrupted}));
}

TEST_F(SlotsModesTest, OfALoopNobodyKnowsWhichWait) {
  Want(true, false, 1);
  for (int i = 1; i <= 3; ++i) Run(i);
  slots_.StopWaiting(StopWhy::kInterrupted);
  EXPECT_TRUE(engine_.made[0]->stopped.empty());
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
