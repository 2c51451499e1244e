// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/work.h"

namespace tidemill {

// What an agent calls a run, so that the agent after it knows whose it is: "LEASE OFFSET".
std::string FormatRunTag(const ItemKey& key);
std::optional<ItemKey> ParseRunTag(std::string_view tag);

}  // namespace tidemill
