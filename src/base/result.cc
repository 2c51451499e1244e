// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

namespace tidemill {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kNobody:
      return "nobody";
    case Code::kForbidden:
      return "forbidden";
    case Code::kNotFound:
      return "not_found";
    case Code::kConflict:
      return "conflict";
    case Code::kLost:
      return "lost";
    case Code::kExhausted:
      return "exhausted";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kUnknown:
      return "unknown";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace tidemill
