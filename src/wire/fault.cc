// SPDX-License-Identifier: Apache-2.0
#include "wire/fault.h"

namespace tidemill {

SpecFault FaultOf(std::string_view reason) {
  constexpr std::string_view kWhole = "the body";
  constexpr std::string_view kUnknown = "unknown field '";
  const std::size_t colon = reason.find(": ");
  if (colon == std::string_view::npos) return {"", std::string(reason)};
  const bool is_whole = reason.substr(0, colon) == kWhole;
  const std::string path(is_whole ? "" : reason.substr(0, colon));
  if (path.find(' ') != std::string::npos) return {"", std::string(reason)};  // no path after all
  const std::string_view why = reason.substr(colon + 2);
  // The field may hold a quote itself; what follows its last letter is always the same.
  const std::size_t end = why.find("'; ", kUnknown.size());
  if (!why.starts_with(kUnknown) || end == std::string_view::npos) {
    return {path, std::string(is_whole ? why : reason)};
  }
  const std::string field(why.substr(kUnknown.size(), end - kUnknown.size()));
  if (path.empty()) return {field, std::string(why)};
  return {path + "." + field,
          std::string(why.substr(0, end + 1)) + " in " + path + std::string(why.substr(end + 1))};
}

}  // namespace tidemill
