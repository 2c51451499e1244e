// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

// With sanitizers; the gate plays many more seeds without.
constexpr std::uint64_t kSeeds = 20;

TEST(World, LosesAndDoublesNothingAndFinishesWhateverFails) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimOutcome outcome = Simulate(seed);
    EXPECT_EQ(outcome.verdict, SimVerdict::kGood)
        << outcome.what << "\nrepeat with: tidemill-sim --seed " << seed;
  }
}

TEST(World, PlaysASeedTheSameWayTwice) {
  for (const std::uint64_t seed : {3, 17, 44}) {
    const SimOutcome once = Simulate(seed);
    const SimOutcome again = Simulate(seed);
    EXPECT_EQ(once.trace, again.trace);
    EXPECT_EQ(once.steps, again.steps);
  }
}

TEST(World, MeetsItsFaultsInTheSeedsOfThisTest) {
  LoadTotals sum;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const LoadTotals totals = Simulate(seed).totals;
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
