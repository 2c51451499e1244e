// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// Something that was uploaded.
struct Blob {
  std::string sha256 = {};
  std::int64_t bytes = 0;
};
std::string FormatBlob(const Blob& blob);

// 64 digits, in lower case.
bool IsSha256Text(std::string_view text);

// "blob:SHA256", as a spec names one: the digits. Empty: it is none.
std::string_view BlobNameOf(std::string_view text);

}  // namespace tidemill
