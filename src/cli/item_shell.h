// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

// A terminal in an item's place: its container runs a command that waits, beside which a shell is
// opened that has what the command was given.
namespace tidemill::cli {

// What waits. It ends, with the exit code of the shell, when that has ended.
const std::vector<std::string>& WaitingCommand();
// Whether what it has written says that it waits.
bool IsWaiting(std::string_view log);

// Runs the shell in the one container of this agent, in our terminal, to its end; gives its exit
// code. kNotFound: there is no docker program, or no such container.
Result<int> OpenShell(const Surroundings& around, const std::string& socket,
                      const std::string& agent_id);

}  // namespace tidemill::cli
