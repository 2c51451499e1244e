// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tidemill {

// The SHA-256 of `bytes`: 32 raw bytes.
std::string Sha256(std::string_view bytes);
// The HMAC of `bytes` with SHA-256: 32 raw bytes.
std::string HmacSha256(std::string_view key, std::string_view bytes);

// Two digits a byte, in lower case.
std::string Hex(std::string_view bytes);

}  // namespace tidemill
