// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/work.h"

namespace tidemill {

// What an agent calls a run, so that the agent after it knows whose it is: "LEASE OFFSET DATA".
struct RunTag {
  ItemKey key;
  std::uint64_t data = 0;  // see Attempt
  bool operator==(const RunTag&) const = default;
};
std::string FormatRunTag(const RunTag& tag);
std::optional<RunTag> ParseRunTag(std::string_view text);

}  // namespace tidemill
