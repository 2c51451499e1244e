// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/stream.h"

// What people want of the container of an item, and what its agent says if they cannot have it.
namespace tidemill {

inline constexpr std::size_t kStreamWords = 256;
inline constexpr std::size_t kStreamTermBytes = 64;
inline constexpr std::size_t kRefusalBytes = 1000;

// The body of POST /v1/jobs/{job}/items/{item}/shell; and how an agent is told of any stream:
//
//   {"command":["ls","-l"],"terminal":true,"rows":24,"columns":80,"term":"xterm"}   or {"port":80}
//
// All fields of the first may be absent. What is not UTF-8 in a command is replaced.
std::string FormatStreamAsk(const StreamAsk& ask);
Result<StreamAsk> ParseStreamAsk(std::string_view body);

// {"reason":"..."}: one line. What ParseRefusal would not take is left out.
std::string FormatRefusal(std::string_view reason);
Result<std::string> ParseRefusal(std::string_view body);

}  // namespace tidemill
