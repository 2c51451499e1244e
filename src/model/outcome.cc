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
  }
  return "failed";
}

std::optional<Cause> ParseCause(std::string_view name) {
  for (int i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (CauseName(cause) == name) return cause;
  }
  return std::nullopt;
}

}  // namespace tidemill
