// SPDX-License-Identifier: Apache-2.0
// Runs whose init does not end them.
#include <chrono>
#include <cstdint>
#include <vector>

#include "agent/slots_testing.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class SlotsLateTest : public HandSlotsTest {
 protected:
  // As an agent does it, each second.
  std::vector<Slots::LateRun> Watch(seconds time) {
    std::vector<Slots::LateRun> ends;
    for (seconds passed{0}; passed < time; ++passed) {
      RunFor(seconds(1));
      for (const Slots::LateRun& late : slots_.EndLate()) ends.push_back(late);
    }
    return ends;
  }
  const seconds margin_ = std::chrono::duration_cast<seconds>(options_.limits.late_margin);
  static constexpr seconds kGrace{5};
};

TEST_F(SlotsLateTest, ARunPastItsTimeIsEndedFromOutsideAndWhatWaitsBehindItMovesOn) {
  timeout_ = seconds(60);
  Want(false, false, 1);
  Run(1);
  Run(2);
  EXPECT_TRUE(Watch(seconds(58) + kGrace + margin_).empty());
  ASSERT_EQ(engine_.made.size(), 1U);
  const auto ends = Watch(seconds(3));
  EXPECT_EQ(engine_.made.size(), 0U);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].attempt.item, 1);
  EXPECT_EQ(ends[0].end.how, ItemEnd::How::kTimedOut);
  EXPECT_EQ(ends[0].end.exit, 137);
  EXPECT_EQ(ends[0].why, StopWhy::kNone);
  EXPECT_EQ(ends[1].end, (ItemEnd{.number = 2, .how = ItemEnd::How::kStopped}));
  EXPECT_EQ(ends[1].why, StopWhy::kMoved);
  EXPECT_TRUE(told_.ends.empty());
}

TEST_F(SlotsLateTest, ARunHasItsTimeFromWhenItIsTheFirst) {
  timeout_ = seconds(60);
  Want(false, false, 1);
  Run(1);
  Run(2);
  EXPECT_TRUE(Watch(seconds(64)).empty());
  engine_.made[0]->End(0, ItemEnd::How::kTimedOut, 143);
  EXPECT_TRUE(Watch(seconds(58) + kGrace + margin_).empty());
  EXPECT_EQ(Watch(seconds(3)).size(), 1U);
}

TEST_F(SlotsLateTest, WithoutATimeoutARunIsNeverLate) {
  Want(false, false, 1);
  Run(1);
  EXPECT_TRUE(Watch(hours(3)).empty());
  EXPECT_EQ(engine_.made.size(), 1U);
}

TEST_F(SlotsLateTest, WhatIsStoppedHasItsGrace) {
  Want(false, false, 1);
  Run(1);
  Run(2);
  Run(3);
  EXPECT_TRUE(Watch(hours(1)).empty());
  slots_.StopIf(StopWhy::kInterrupted, [](const ItemKey& key) { return key.offset < 3; });
  EXPECT_TRUE(Watch(kGrace + margin_).empty());
  const auto ends = Watch(seconds(3));
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_EQ(ends[0].end.how, ItemEnd::How::kStopped);
  EXPECT_EQ(ends[0].end.exit, 137);
  EXPECT_EQ(ends[0].why, StopWhy::kInterrupted);
  EXPECT_EQ(ends[1].end.exit, 0);
  EXPECT_EQ(ends[1].why, StopWhy::kInterrupted);
  EXPECT_EQ(ends[2].why, StopWhy::kMoved);
  EXPECT_EQ(engine_.made.size(), 0U);
}

TEST_F(SlotsLateTest, ALoopsItemMayWaitForItsProgramAsLongAsThatTakes) {
  timeout_ = seconds(60);
  Want(true, false, 1);
  for (int i = 1; i <= 3; ++i) Run(i);
  EXPECT_TRUE(Watch(hours(1)).empty());
  slots_.StopIf(StopWhy::kLeaseGone, [](const ItemKey& key) { return key.offset == 2; });
  EXPECT_TRUE(Watch(kGrace + margin_).empty());
  const auto ends = Watch(seconds(3));
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_EQ(ends[1].why, StopWhy::kLeaseGone);
  for (const int other : {0, 2}) {
    EXPECT_EQ(ends[static_cast<std::size_t>(other)].why, StopWhy::kMoved);
    EXPECT_EQ(ends[static_cast<std::size_t>(other)].end.exit, 0);
  }
}

TEST_F(SlotsLateTest, TimeInWhichTheAgentSleptDoesNotCount) {
  timeout_ = seconds(60);
  Want(false, false, 1);
  Run(1);
  EXPECT_TRUE(Watch(seconds(5)).empty());
  RunFor(hours(9));
  ASSERT_TRUE(Watch(seconds(50)).empty());
  engine_.made[0]->End(0);
  EXPECT_EQ(told_.ends, std::vector<std::int64_t>{1});
}

}  // namespace
}  // namespace tidemill
