// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill {

// A program that is to run on its own.
struct LaunchPlan {
  std::vector<std::string> argv = {};         // the first is the program's path
  std::vector<std::string> environment = {};  // "NAME=value", and nothing else
  std::filesystem::path folder = {};          // in which it runs
  std::filesystem::path log = {};             // standard output and error are appended to it
  // Is written by the new process itself, whole or not at all, before it becomes the program: a
  // line of `mark_before`, its number and its start, and `mark_after`. So there is no process
  // without its mark, wherever its maker dies.
  std::filesystem::path mark = {};
  std::string mark_before = {};
  std::string mark_after = {};
};

// Starts a program in a session of its own, whose parent is not this process: it stays when this
// one dies, however it does. All descriptors that are close-on-exec, a lock for one, are held until
// the program has begun. Any thread; blocks for as long as that takes. kUnavailable: it did not
// begin, and there is no mark. kUnknown: it does not show in time whether it did.
Result<void> Launch(const LaunchPlan& plan);

}  // namespace tidemill
