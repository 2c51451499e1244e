// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/session.h"

namespace tidemill::cli {

std::string MachinesText(const std::vector<ListedMachine>& machines, std::int64_t now_ms,
                         std::size_t width, bool colours);

// All of them, page by page.
Result<std::vector<ListedMachine>> FetchMachines(Client& client);

// tidemill machines
int ListMachines(const Context& context);

}  // namespace tidemill::cli
