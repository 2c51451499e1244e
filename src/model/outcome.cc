// SPDX-License-Identifier: Apache-2.0
#include "model/outcome.h"

namespace tidemill {

std::string_view CauseName(Cause cause) {
  switch (cause) {
    case Cause::kSucceeded:
      return "succeeded";
    case Cause::kFailed:
      return "failed";
    case Cause::kLost:
      return "lost";
    case Cause::kTimeout:
      return "timeout";
    case Cause::kOutOfMemory:
      return "out-of-memory";
    case Cause::kCancelled:
      return "cancelled";
    case Cause::kInterrupted:
      return "interrupted";
    case Cause::kMachineFault:
      return "machine-fault";
    case Cause::kImage:
      return "image";
    case Cause::kRejectedOutput:
      return "rejected-output";
  }
  return "failed";
}

Budget BudgetOf(Cause cause) {
  switch (cause) {
    case Cause::kFailed:
    case Cause::kTimeout:
    case Cause::kRejectedOutput:
      return Budget::kRetries;
    case Cause::kOutOfMemory:
      return Budget::kMemory;
    case Cause::kSucceeded:
    case Cause::kLost:
    case Cause::kCancelled:
    case Cause::kInterrupted:
    case Cause::kMachineFault:
    case Cause::kImage:
      break;
  }
  return Budget::kNone;
}

std::optional<Cause> ParseCause(std::string_view name) {
  for (int i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (CauseName(cause) == name) return cause;
  }
  return std::nullopt;
}

}  // namespace tidemill
