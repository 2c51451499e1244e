// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace tidemill {

// A time as people write it: "90s", "30m", "1h30m", "2d", "500ms". Whole numbers, each with its
// unit, the larger first. Nothing for anything else, and for more than kMostDuration.
inline constexpr std::chrono::hours kMostDuration{24 * 366};  // a year; more is a slip
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace tidemill
