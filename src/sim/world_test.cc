// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(World, LosesAndDoublesNothingAndFinishesWhateverFails) {
  LoadTotals sum;
  // Few, because they run with sanitizers; the gate plays many more without.
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    World world(DrawPlan(seed));
    const SimOutcome outcome = world.Run();
    EXPECT_EQ(outcome.verdict, SimVerdict::kGood)
        << outcome.id << " " << outcome.what << "\nrepeat with: tidemill-sim --seed " << seed;
    const LoadTotals& totals = world.totals();
    sum.lies += totals.lies;
    sum.repeats += totals.repeats;
    sum.vanished += totals.vanished;
    sum.late += totals.late;
    sum.sessions_lost += totals.sessions_lost;
    sum.errors += totals.errors;
  }
  // Runs without faults would show nothing.
  EXPECT_GT(sum.lies, 0);
  EXPECT_GT(sum.repeats, 0);
  EXPECT_GT(sum.vanished, 0);
  EXPECT_GT(sum.late, 0);
  EXPECT_GT(sum.sessions_lost, 0);
  EXPECT_GT(sum.errors, 0);
}

TEST(World, PlaysASeedTheSameWayTwice) {
  const SimOutcome once = Play(DrawPlan(17));
  const SimOutcome again = Play(DrawPlan(17));
  EXPECT_EQ(once.trace, again.trace);
  EXPECT_EQ(once.steps, again.steps);
}

}  // namespace
}  // namespace tidemill
