// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/context.h"

namespace tidemill::cli {

// Shows a job until it has ended; gives the exit code. On a terminal a block is drawn over and
// over, elsewhere a line is written when something has changed. Ctrl-C leaves the job running.
//
// With a command in `then`, it also ends when the job is paused by the system or is out of budget;
// the command is run, and its exit code is given. See cli/then.h.
int Watch(const Context& context, const std::string& job, const std::string& then = "");

}  // namespace tidemill::cli
