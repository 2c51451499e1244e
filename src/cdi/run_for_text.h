// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill {

// What a tool may say: nvidia-smi's table of 16 GPUs is 4 kB.
inline constexpr std::size_t kToolBytes = 256 * 1024;

// Runs a program, the first of `argv` being its path, and gives what it writes to standard output.
// It has nothing on standard input and an environment of its own, without ours. Blocks.
// kUnavailable: it cannot be started, ends with another code than 0, says more than kToolBytes, or
// is not at its end after `at_most`; then it is killed, with all of its process group.
Result<std::string> RunForText(const std::vector<std::string>& argv,
                               std::chrono::milliseconds at_most);

}  // namespace tidemill
