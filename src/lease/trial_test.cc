// SPDX-License-Identifier: Apache-2.0
#include "lease/trial.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Verdict = TrialTally::Verdict;

Outcome Failure(std::int32_t exit, Cause cause = Cause::kFailed) {
  Outcome outcome;
  outcome.item = 7;
  outcome.cause = cause;
  outcome.exit = exit;
  return outcome;
}

TEST(TrialTally, ManyThatFailAlikeAreEnough) {
  TrialTally tally;
  for (int i = 0; i < 19; ++i) tally.AddFailed(Failure(3));
  EXPECT_EQ(tally.Judge(20), Verdict::kOpen);
  tally.AddFailed(Failure(3));
  EXPECT_EQ(tally.Judge(20), Verdict::kAlike);
  // Those that were out with them came in at once.
  tally.AddFailed(Failure(3));
  EXPECT_EQ(tally.Judge(20), Verdict::kAlike);
  EXPECT_EQ(tally.Why({12}, 20),
            "its first 20 attempts all failed alike: exit code 3; look at 'tidemill logs 12 --item "
            "7', then 'tidemill resume 12'");
}

TEST(TrialTally, OneSuccessIsEnough) {
  TrialTally tally;
  for (int i = 0; i < 19; ++i) tally.AddFailed(Failure(3));
  tally.AddSucceeded();
  EXPECT_EQ(tally.Judge(20), Verdict::kPassed);
  tally.AddFailed(Failure(3));
  EXPECT_EQ(tally.Judge(20), Verdict::kPassed);
}

TEST(TrialTally, DifferentFailuresAreThoseOfTheItems) {
  TrialTally exits, causes;
  for (int i = 0; i < 3; ++i) exits.AddFailed(Failure(i == 1 ? 4 : 3));
  EXPECT_EQ(exits.Judge(3), Verdict::kPassed);
  for (int i = 0; i < 3; ++i) {
    causes.AddFailed(Failure(137, i == 2 ? Cause::kTimeout : Cause::kFailed));
  }
  EXPECT_EQ(causes.Judge(3), Verdict::kPassed);
}

TEST(TrialTally, SaysWhatHappened) {
  const auto why = [](const Outcome& outcome) {
    TrialTally tally;
    tally.AddFailed(outcome);
    const std::string text = tally.Why({12}, 1);
    return text.substr(0, text.find(';'));
  };
  EXPECT_EQ(why(Failure(139)), "its first attempt failed: signal 11");
  EXPECT_EQ(why(Failure(143, Cause::kTimeout)), "its first attempt failed: timed out");
  EXPECT_EQ(why(Failure(137, Cause::kOutOfMemory)), "its first attempt failed: out of memory");
  EXPECT_EQ(why(Failure(0, Cause::kRejectedOutput)), "its first attempt failed: rejected-output");
}

}  // namespace
}  // namespace tidemill
