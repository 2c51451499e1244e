// SPDX-License-Identifier: Apache-2.0
#include "agent/verdict.h"

#include <algorithm>
#include <vector>

namespace tidemill {
namespace {

bool Has(const std::vector<std::int32_t>& exits, std::int32_t exit) {
  return std::find(exits.begin(), exits.end(), exit) != exits.end();
}

Verdict Told(const RunSpec& spec, const ItemEnd& end, Cause cause) {
  const bool ruled_out =
      (!spec.retry_on.empty() && !Has(spec.retry_on, end.exit)) || Has(spec.retry_never, end.exit);
  return {Verdict::Next::kTell, cause, BudgetOf(cause) == Budget::kRetries && ruled_out};
}

Verdict JudgeStopped(const RunSpec& spec, const ItemEnd& end, StopWhy why) {
  using Next = Verdict::Next;
  // Of one that had to be ended from outside nobody knows when it began.
  const bool had_begun = end.start_ms != 0 || end.exit != 0;
  switch (why) {
    case StopWhy::kInterrupted:
      return had_begun ? Told(spec, end, Cause::kInterrupted) : Verdict{.next = Next::kBack};
    case StopWhy::kMachineFault:
      return had_begun ? Told(spec, end, Cause::kMachineFault) : Verdict{.next = Next::kBack};
    case StopWhy::kDisk:
      return had_begun ? Told(spec, end, Cause::kFailed) : Verdict{.next = Next::kAgain};
    case StopWhy::kMoved:
      return {.next = had_begun ? Next::kAlone : Next::kAgain};
    case StopWhy::kNone:
    case StopWhy::kLeaseGone:
      break;
  }
  return {.next = Next::kAgain};
}

}  // namespace

Verdict JudgeEnd(const RunSpec& spec, const ItemEnd& end, StopWhy why) {
  switch (end.how) {
    case ItemEnd::How::kStopped:
      return JudgeStopped(spec, end, why);
    case ItemEnd::How::kAmongOthers:
      if (why == StopWhy::kInterrupted || why == StopWhy::kMachineFault) {
        return JudgeStopped(spec, end, why);
      }
      return {.next = Verdict::Next::kAlone};
    case ItemEnd::How::kTimedOut:
      return Told(spec, end, Cause::kTimeout);
    case ItemEnd::How::kOutOfMemory:
      return Told(spec, end, Cause::kOutOfMemory);
    case ItemEnd::How::kExited:
      return Told(spec, end, end.exit == 0 ? Cause::kSucceeded : Cause::kFailed);
    case ItemEnd::How::kSignalled:
    case ItemEnd::How::kNotStarted:
      break;
  }
  return Told(spec, end, Cause::kFailed);
}

}  // namespace tidemill
