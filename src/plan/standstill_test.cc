// SPDX-License-Identifier: Apache-2.0
#include "plan/standstill.h"

#include <gtest/gtest.h>

#include "plan/plan_test.h"

namespace tidemill {
namespace {

using plan_test::Dollars;
using plan_test::JobOf;
using plan_test::World;

bool IsOut(const PlanJob& job) {
  Snapshot world = World(1);
  world.jobs = {JobOf(1, "q", 100), job};
  return IsOutOfBudget(SnapshotIndex(world), 1);
}

PlanJob Paying(double budget, double spent) {
  PlanJob job = JobOf(2, "q", 10);
  job.budget = Dollars(budget);
  job.spent = Dollars(spent);
  return job;
}

TEST(Standstill, ABudgetIsOutWhenItPaysForNotOneMoreItem) {
  EXPECT_TRUE(IsOut(Paying(1, 1)));
  EXPECT_TRUE(IsOut(Paying(1, 1.2)));
  EXPECT_TRUE(IsOut(Paying(1, 0.999999)));
  EXPECT_FALSE(IsOut(Paying(1, 0)));
  EXPECT_FALSE(IsOut(JobOf(2, "q", 10)));
}

TEST(Standstill, ItIsNotOutWhileSomethingRunsOrNothingWaits) {
  PlanJob job = Paying(1, 1);
  job.leased = 1;
  EXPECT_FALSE(IsOut(job));
  job.leased = 0;
  job.waiting = 0;
  EXPECT_FALSE(IsOut(job));
  job = Paying(1, 1);
  job.paused = "its image";
  EXPECT_FALSE(IsOut(job));
}

}  // namespace
}  // namespace tidemill
