// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemill {

// A size in bytes as people write it: "4GiB", "1.5 GiB", "512MB", "100". KiB to TiB are powers of
// 1,024, KB to TB of 1,000. Nothing for anything else, and for more than 2^60 bytes.
std::optional<std::int64_t> ParseSize(std::string_view text);

}  // namespace tidemill
