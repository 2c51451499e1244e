// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tidemill {

// The SHA-256 of `bytes`: 32 raw bytes.
std::string Sha256(std::string_view bytes);

}  // namespace tidemill
