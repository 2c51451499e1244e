// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// Where a server listens.
struct Listen {
  std::string address;  // numeric
  std::uint16_t port = 0;
  bool loopback = false;  // only this machine can reach it
  bool operator==(const Listen&) const = default;
};

// "127.0.0.1:8080", "[::1]:8080", "localhost:0". kInvalid: anything else; names are not looked up.
Result<Listen> ParseListen(std::string_view text);

// Allows as many open files as the system lets this process have: each agent that waits is one.
// Answers how many that are.
std::int64_t RaiseOpenFiles();

}  // namespace tidemill
