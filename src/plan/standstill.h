// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "plan/index.h"

namespace tidemill {

// Nothing of the job runs, something waits, and what is left of its budget pays for not one more
// item in any pool that it may use. It stays so: money that is spent does not come back.
bool IsOutOfBudget(const SnapshotIndex& index, std::size_t job);

}  // namespace tidemill
