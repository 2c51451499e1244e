// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "base/bits.h"
#include "base/result.h"
#include "report/failure_groups.h"
#include "store/store.h"

namespace tidemill {

// The items of a job that have failed now, by what their last attempts have in common. Chunk by
// chunk, so that any number of items takes the memory of one chunk; of a job with more chunks than
// can be read in some seconds the first ones, and the answer says so.
Result<FailureSummary> GroupFailures(Store& store, JobId id);

// Which those of one group are: by chunk, as the store reopens them.
Result<std::map<std::int32_t, Bits>> FindFailed(Store& store, JobId id, const FailureKey& key);

}  // namespace tidemill
