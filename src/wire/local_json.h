// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// What a pool whose machines are agents on one machine may say in its options.
struct LocalPool {
  std::string engine = {};                    // "docker" or "process"; empty: the agent's default
  std::vector<std::string> args = {};         // more flags for its agents
  std::optional<std::int64_t> capacity = {};  // machines at once; nothing: any number
  bool operator==(const LocalPool&) const = default;
};

// Of {"engine":"process","args":["--files","/data"],"capacity":3}; empty text: nothing is said.
// kInvalid: something else is in it, and the reason says what.
Result<LocalPool> ParseLocalPool(std::string_view text);

}  // namespace tidemill
