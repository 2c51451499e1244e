// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wire/rehearsal_json.h"

namespace tidemill::cli {

// What the runs came to, as a table with a range over their seeds, and machines over time of the
// one in the middle. There is at least one.
std::string RehearsalText(const std::vector<Rehearsed>& runs, std::size_t width, bool colours);

// The run whose time is the one in the middle.
const Rehearsed& MiddleOf(const std::vector<Rehearsed>& runs);

}  // namespace tidemill::cli
