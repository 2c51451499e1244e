// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// Milliseconds since 1970 as 2026-05-01T12:03:44.123Z, and back. Nothing for any other spelling.
std::string FormatTime(std::int64_t ms);
std::optional<std::int64_t> ParseTime(std::string_view text);

}  // namespace tidemill
