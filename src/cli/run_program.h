// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill::cli {

// A program that a command runs in the person's terminal, with the person's rights.
struct ProgramPlan {
  std::vector<std::string> words;  // the first is the program's path
  std::string input = {};          // a file; empty: it reads nothing
  // What becomes of what it prints: kept, or shown on our standard error. Its errors are shown.
  bool keeps = false;
  bool is_interactive = false;  // it has our terminal as it is; nothing is kept then
};

struct ProgramEnd {
  int exit = 0;  // 128 and the signal that ended it
  std::string out = {};
};

// Waits for its end; Ctrl-C reaches it as it reaches us. kInternal: it cannot be started.
Result<ProgramEnd> RunProgram(const ProgramPlan& plan);

// Becomes the program: its terminal, signals and exit code are ours then. Returns only if it cannot
// be started, with the reason. `words` as above, `variables` beside our own ones.
struct Variable {
  std::string name;
  std::string value;
};
Error BecomeProgram(std::vector<std::string> words, const std::vector<Variable>& variables);

}  // namespace tidemill::cli
