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
  }
  return "failed";
}

}  // namespace tidemill
