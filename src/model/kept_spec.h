// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tidemill {

// A job's spec that is kept on the server under a name. A version never changes; putting another
// document makes the next one.
struct KeptSpec {
  std::string name;
  std::int32_t version = 0;  // from 1 on
  std::string document;      // JSON; empty in lists
  std::string made_by;
  std::int64_t created_ms = 0;
  bool operator==(const KeptSpec&) const = default;
};

}  // namespace tidemill
