// SPDX-License-Identifier: Apache-2.0
#include "agent/pace.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr DepthQuery kManyInLoop{.mode = Mode::kLoop, .slots = 1, .unfinished = 100'000};
constexpr DepthQuery kManyProcesses{.slots = 1, .unfinished = 100'000};

// Batches, one after the other, of as many as the program asks for and wait when it does: the
// places of those whose results it hands over with the same request are filled after that.
int DepthAfterBatches(int asks_for, Duration takes, int batches) {
  Pace pace;
  TimePoint now{minutes(1)};
  int held = 0;
  for (int i = 0; i < batches; ++i) {
    held = std::min(asks_for, DepthOf(pace, kManyInLoop, {}) - held);
    now += takes;
    for (int item = 0; item < held; ++item) pace.Add(now, takes);
  }
  return DepthOf(pace, kManyInLoop, {});
}

TEST(Pace, ProcessesAreHandedOverAsManyAsAContainerEndsInAWhile) {
  Pace pace;
  EXPECT_EQ(DepthOf(pace, kManyProcesses, {}), 1);
  pace.Add(TimePoint{milliseconds(900)}, milliseconds(4));
  EXPECT_EQ(DepthOf(pace, kManyProcesses, {}), 1 + 20 / 4);
  EXPECT_EQ(DepthOf(pace, {.slots = 4, .unfinished = 5}, {}), 2);
  EXPECT_EQ(DepthOf(pace, {.mode = Mode::kContainer, .slots = 1, .unfinished = 50}, {}), 1);
}

TEST(Pace, ALoopGetsWhatFillsItsBatchesWhateverTheyTake) {
  for (const Duration takes : {Duration(milliseconds(3)), Duration(milliseconds(64)),
                               Duration(std::chrono::seconds(10))}) {
    EXPECT_GE(DepthAfterBatches(64, takes, 8), 128) << takes.count();
    EXPECT_GE(DepthAfterBatches(512, takes, 12), 512) << takes.count();
  }
  EXPECT_EQ(DepthAfterBatches(64, microseconds(640), 300), 1024);
}

TEST(Pace, ALoopThatTakesOneAtATimeHoldsNoPileOfThem) {
  EXPECT_LE(DepthAfterBatches(1, std::chrono::minutes(10), 20), 3);
  EXPECT_LE(DepthAfterBatches(1, milliseconds(200), 40), 3);
}

TEST(Pace, OfALoopOfWhichNothingIsKnownAllContainersGetTheirShare) {
  EXPECT_EQ(DepthOf({}, {.mode = Mode::kLoop, .slots = 4, .unfinished = 20}, {}), 5);
  EXPECT_EQ(DepthOf({}, kManyInLoop, {}), 16);
}

// On a real clock no two ends come at the same time.
TEST(Pace, EndsOfABatchComeOneRightAfterTheOther) {
  Pace pace;
  TimePoint now{minutes(1)};
  for (int i = 0; i < 10; ++i) {
    now += milliseconds(200);
    for (int item = 0; item < 8; ++item) {
      now += std::chrono::microseconds(20);
      pace.Add(now, milliseconds(200));
    }
  }
  EXPECT_NEAR(pace.together(), 8, 0.5);
}

TEST(Pace, TimeInWhichNothingRanDoesNotCount) {
  Pace pace;
  TimePoint now{minutes(1)};
  for (int i = 0; i < 10; ++i) {
    now += minutes(5);
    for (int item = 0; item < 8; ++item) pace.Add(now, milliseconds(50));
  }
  EXPECT_NEAR(pace.together(), 8, 0.1);
  EXPECT_NEAR(pace.LastsUs(80, 1), 500'000, 20'000);
}

}  // namespace
}  // namespace tidemill
