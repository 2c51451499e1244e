// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// A word without quotes as JSON, by the core schema of YAML 1.2. kInvalid: a number that JSON or 64
// bits do not hold.
Result<std::string> PlainToJson(std::string_view word);

// Text as a JSON string. It must be UTF-8.
std::string TextToJson(std::string_view text);

// Where `text` stops being UTF-8 without NUL; its size if it does not.
std::size_t FindNotUtf8(std::string_view text);

}  // namespace tidemill
