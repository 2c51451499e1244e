// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "report/summary.h"
#include "store/store.h"

namespace tidemill {

struct JobStats {
  Summary summary;
  bool partial = false;  // attempts of chunks that are under way are missing
};

// What the attempts of a job add up to: of chunks that are over all, of the others those of the
// newest chunks, as far as they fit.
Result<JobStats> AddUpStats(Store& store, JobId id);

}  // namespace tidemill
