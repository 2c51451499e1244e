// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/outcome.h"

namespace tidemill {

// What a failure is known by: attempts that failed alike have the same, whatever their item.
//
//   "FileNotFoundError: [Errno 2] No such file or directory: '...' at load.py:31"
//   "std::runtime_error: bad shape #"      "exit code 3"      "timeout"
//
// It is UTF-8 without control characters. So that any number of items has few of them, numbers,
// addresses, UUIDs, the folders of paths and what is in quotes are made alike.
inline constexpr std::size_t kSignatureBytes = kErrorBytes;
// So much of the end of what an attempt wrote is looked at; an error says what it is in its last
// lines, and the rest of a long one is the same stack again.
inline constexpr std::size_t kTailBytes = 4096;

struct FailureSeen {
  Cause cause = Cause::kFailed;
  std::int32_t exit = 0;
  std::string_view tail = {};  // the last that it wrote; any bytes
  std::string_view item = {};  // its text: where an error names it, it is made alike too
};

// Empty for a cause that is no failure of the item.
std::string SignatureOf(const FailureSeen& seen);

// Of one that left no words: "exit code 3", "signal 9", "timeout", "machine lost".
std::string SignatureOfCause(Cause cause, std::int32_t exit);

}  // namespace tidemill
