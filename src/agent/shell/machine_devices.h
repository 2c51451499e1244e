// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agent/deps.h"
#include "base/result.h"
#include "cdi/inventory.h"

namespace tidemill {

// Each "KIND=PATH": a device of the machine that one container has at a time.
Result<std::vector<MachineDevice>> DevicesOfFlags(const std::vector<std::string>& texts);

// Adds those of CDI specs, but for what a path has given already. What is left out for another
// reason is among the troubles.
void AddSpecDevices(const std::vector<FoundDevice>& found, std::vector<MachineDevice>& devices,
                    std::vector<std::string>& troubles);

}  // namespace tidemill
