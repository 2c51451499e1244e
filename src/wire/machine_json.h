// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/session.h"

// GET /v1/machines
namespace tidemill {

// `more`: there are others; the next page begins after the last of these.
std::string FormatMachines(const std::vector<ListedMachine>& machines, bool more);

struct MachinesAnswer {
  std::vector<ListedMachine> machines;  // the number of their leases is not in the answer
  std::string next;  // what `after` must be for the next page; empty: there is none
};
Result<MachinesAnswer> ParseMachines(std::string_view body);

}  // namespace tidemill
