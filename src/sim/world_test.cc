// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

// With sanitizers; the gate plays many more seeds without.
constexpr std::uint64_t kSeeds = 20;

TEST(World, LosesAndDoublesNothingAndFinishesWhateverFails) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimOutcome outcome = Play(DrawPlan(seed));
    EXPECT_EQ(outcome.verdict, SimVerdict::kGood)
        << outcome.id << " " << outcome.what << "\nrepeat with: tidemill-sim --seed " << seed;
  }
}

TEST(World, PlaysASeedTheSameWayTwice) {
  for (const std::uint64_t seed : {3, 17, 44}) {
    const SimOutcome once = Play(DrawPlan(seed));
    const SimOutcome again = Play(DrawPlan(seed));
    EXPECT_EQ(once.trace, again.trace);
    EXPECT_EQ(once.steps, again.steps);
  }
}

TEST(World, MeetsItsFaultsInTheSeedsOfThisTest) {
  LoadTotals sum;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world(DrawPlan(seed));
    world.Run();
    const LoadTotals& totals = world.totals();
    sum.lies += totals.lies;
    sum.repeats += totals.repeats;
    sum.vanished += totals.vanished;
    sum.late += totals.late;
    sum.sessions_lost += totals.sessions_lost;
    sum.errors += totals.errors;
  }
  EXPECT_GT(sum.lies, 0);
  EXPECT_GT(sum.repeats, 0);
  EXPECT_GT(sum.vanished, 0);
  EXPECT_GT(sum.late, 0);
  EXPECT_GT(sum.sessions_lost, 0);
  EXPECT_GT(sum.errors, 0);
}

}  // namespace
}  // namespace tidemill
