// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tidemill {

// What a call of ours comes with.
struct RuntimeWorld {
  std::vector<std::string> args = {};  // without the program's own name
  std::string config_path = {};        // of our own config file
  std::string path = {};               // as PATH has it
  std::string self = {};               // our own program
};

// Edits the bundle, if the call has one, and becomes the runtime below with the same arguments. If
// it returns, that failed: the exit code, and the reason is on standard error and in the log that
// the engine reads.
int BeRuntime(const RuntimeWorld& world);

}  // namespace tidemill
