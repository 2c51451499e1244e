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

// tidemill machines
int ListMachines(const Context& context);

}  // namespace tidemill::cli
