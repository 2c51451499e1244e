// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_report.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

constexpr Duration kTook = std::chrono::seconds(30);

SimTotals Totals() {
  SimTotals totals;
  totals.seeds = 400;
  totals.steps = 5'000'000;
  totals.settlements = 60'000;
  totals.faults = 700;
  totals.machine_hours = 12.5;
  return totals;
}

KeptFailure Failure() {
  KeptFailure failure;
  failure.seed = 1234;
  failure.outcome.verdict = SimVerdict::kSafety;
  failure.outcome.id = "S04";
  failure.outcome.what = "an item was settled twice";
  failure.file = KeptFileName("S04", 1234);
  failure.shrunk = "servers 3 -> 1; faults left: none";
  failure.runs = 87;
  return failure;
}

TEST(SimReport, SaysWhatWasPlayed) {
  EXPECT_EQ(FormatTotals(Totals(), kTook),
            "400 seeds good: 5000000 steps, 60000 settlements, 700 faults, 12.5 machine hours "
            "(25.0 a minute) in 30.0 s\n");
}

TEST(SimReport, SaysHowAFailureIsRepeated) {
  EXPECT_EQ(FormatFailure(Failure()),
            "seed 1234: S04: an item was settled twice\n"
            "shrunk in 87 runs: servers 3 -> 1; faults left: none\n"
            "repeat with: tidemill-sim --replay sim-S04-1234.json\n");
  KeptFailure as_it_was = Failure();
  as_it_was.shrunk.clear();
  EXPECT_EQ(FormatFailure(as_it_was),
            "seed 1234: S04: an item was settled twice\n"
            "repeat with: tidemill-sim --replay sim-S04-1234.json\n");
}

TEST(SimReport, SaysTheSameAsJson) {
  const KeptFailure failure = Failure();
  EXPECT_EQ(FormatEndJson(Totals(), kTook, &failure),
            R"({
  "seeds": 400,
  "steps": 5000000,
  "settlements": 60000,
  "faults": 700,
  "machine_hours": 12.5,
  "machine_hours_a_minute": 25.0,
  "seconds": 30.0,
  "failure": {
    "seed": 1234,
    "verdict": "safety",
    "id": "S04",
    "what": "an item was settled twice",
    "plan": "sim-S04-1234.json",
    "shrunk": "servers 3 -> 1; faults left: none",
    "runs": 87
  }
}
)");
  EXPECT_EQ(FormatEndJson(Totals(), kTook, nullptr).find("failure"), std::string::npos);
}

TEST(SimReport, TellsTheKindsOfFailureApartByExitCode) {
  EXPECT_EQ(SimExitCode(SimVerdict::kGood), 0);
  EXPECT_EQ(SimExitCode(SimVerdict::kSafety), 2);
  EXPECT_EQ(SimExitCode(SimVerdict::kLiveness), 3);
}

}  // namespace
}  // namespace tidemill
