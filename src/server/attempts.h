// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "model/outcome_page.h"
#include "store/store.h"

namespace tidemill {

struct AttemptsRequest {
  JobId job;
  OutcomePlace after = {};
  int limit = 1000;
};

// A page of all attempts at a job's items. It ends early, with a place to go on from, where it
// would have too many bytes. What is recorded while pages are read may be left out; of a job that
// is over, all pages have every attempt once.
Result<OutcomePage> ListAttempts(Store& store, const AttemptsRequest& request);

}  // namespace tidemill
