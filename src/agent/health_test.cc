// SPDX-License-Identifier: Apache-2.0
#include "agent/health.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(Health, RestsAWhileAfterAFaultAndLongAfterTwo) {
  Health health(AgentLimits{.fault_rest = seconds(60), .away_rest = minutes(10)});
  TimePoint now{minutes(1)};
  EXPECT_FALSE(health.rests(now));
  EXPECT_TRUE(health.OnFault(now, "full"));
  EXPECT_FALSE(health.OnFault(now + seconds(1), "full"));
  EXPECT_EQ(health.Reason(now), "full");
  EXPECT_TRUE(health.rests(now + seconds(59)));
  EXPECT_FALSE(health.rests(now + seconds(60)));
  EXPECT_EQ(health.Reason(now + seconds(60)), "");
  now += seconds(60);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(health.OnFault(now, "full"));
    EXPECT_TRUE(health.rests(now + seconds(599)));
    now += minutes(10);
    EXPECT_FALSE(health.rests(now));
  }
  health.OnWorks();
  EXPECT_TRUE(health.OnFault(now, "full"));
  EXPECT_FALSE(health.rests(now + seconds(60)));
}

TEST(Health, KnowsAFaultOfTheMachine) {
  EXPECT_TRUE(IsMachineFault({Code::kUnavailable, "mkdir /x: No space left on device"}));
  EXPECT_TRUE(IsMachineFault({Code::kUnavailable, "open: read-only file system"}));
  EXPECT_FALSE(IsMachineFault({Code::kUnavailable, "the registry is away"}));
  EXPECT_FALSE(IsMachineFault({Code::kInvalid, "no space left on device"}));
}

}  // namespace
}  // namespace tidemill
