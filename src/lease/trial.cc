// SPDX-License-Identifier: Apache-2.0
#include "lease/trial.h"

namespace tidemill {
namespace {

constexpr std::int32_t kSignals = 128;

std::string HowText(const Outcome& outcome) {
  if (outcome.cause != Cause::kFailed) {
    switch (outcome.cause) {
      case Cause::kTimeout:
        return "timed out";
      case Cause::kOutOfMemory:
        return "out of memory";
      default:
        return std::string(CauseName(outcome.cause));
    }
  }
  if (outcome.exit > kSignals) return "signal " + std::to_string(outcome.exit - kSignals);
  return "exit code " + std::to_string(outcome.exit);
}

}  // namespace

void TrialTally::AddFailed(const Outcome& outcome) {
  if (failed_++ == 0) first_ = outcome;
  alike_ = alike_ && outcome.cause == first_.cause && outcome.exit == first_.exit;
}

TrialTally::Verdict TrialTally::Judge(int enough) const {
  if (succeeded_) return Verdict::kPassed;
  if (failed_ < enough) return Verdict::kOpen;
  return alike_ ? Verdict::kAlike : Verdict::kPassed;
}

std::string TrialTally::Why(JobId job, int enough) const {
  const std::string id = std::to_string(job.number);
  const std::string attempts =
      enough == 1 ? "its first attempt failed: "
                  : "its first " + std::to_string(enough) + " attempts all failed alike: ";
  return attempts + HowText(first_) + "; look at 'tidemill logs " + id + " --item " +
         std::to_string(first_.item) + "', then 'tidemill resume " + id + "'";
}

}  // namespace tidemill
