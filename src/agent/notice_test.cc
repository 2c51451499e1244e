// SPDX-License-Identifier: Apache-2.0
#include "agent/notice.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kNow = TimePoint(hours(5));
const AgentLimits kLimits;

LeavePlan PlanWith(Duration lead) {
  return PlanLeave({Notice::Kind::kInterruption, kNow + lead}, kNow, kLimits);
}

TEST(LeavePlan, OfALongNoticeItemsMayEndByThemselvesFirst) {
  const LeavePlan plan = PlanWith(seconds(120));
  EXPECT_EQ(plan.stop_at, kNow + seconds(60));
  EXPECT_EQ(plan.times, (LeaveTimes{seconds(20), seconds(30), seconds(5)}));
}

TEST(LeavePlan, OfAShortNoticeEachPartHasItsShare) {
  const LeavePlan plan = PlanWith(seconds(30));
  EXPECT_EQ(plan.stop_at, kNow);
  EXPECT_EQ(plan.times, (LeaveTimes{seconds(10), seconds(15), milliseconds(2500)}));
}

TEST(LeavePlan, IsOverBeforeTheMachineIs) {
  for (int lead = 0; lead <= 120; ++lead) {
    const LeavePlan plan = PlanWith(seconds(lead));
    const Duration takes = plan.times.grace + plan.times.save;
    EXPECT_GE(plan.stop_at, kNow);
    EXPECT_LE(plan.stop_at + takes, kNow + seconds(lead)) << lead;
  }
}

TEST(LeavePlan, OfANoticeThatHasPassedLeavesNothingButTheLastWord) {
  EXPECT_EQ(PlanWith(seconds(-3600)), (LeavePlan{kNow, {{}, {}, seconds(1)}}));
}

TEST(LeavePlan, NeverEndsWhatRunsForARecommendation) {
  EXPECT_EQ(PlanLeave({Notice::Kind::kRebalance}, kNow, kLimits).stop_at, TimePoint::max());
}

TEST(LeavePlan, LeavesAtOnceIfNobodyTellsTheTime) {
  EXPECT_EQ(PlanLeave({Notice::Kind::kEnding}, kNow, kLimits),
            (LeavePlan{kNow, TimesToLeave(kLimits)}));
}

}  // namespace
}  // namespace tidemill
