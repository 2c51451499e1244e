// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/context.h"
#include "report/failure_groups.h"

namespace tidemill::cli {

// "412 items: FileNotFoundError at load.py:31 (items 3, 17, 90 ...)"
std::string GroupText(const FailureGroup& group);
// The first groups, a line each with its number; how many others there are.
std::vector<std::string> GroupLines(const FailureSummary& summary, std::size_t most);

Result<FailureSummary> FetchFailures(Client& client, const std::string& job,
                                     Patience patience = {});

// tidemill failures
int ShowFailures(const Context& context, const std::string& job);
// Prints what the server or a ledger says, with the next command to type if `job` is not empty.
void PrintFailures(const Console& console, const FailureSummary& summary, const std::string& job);

}  // namespace tidemill::cli
