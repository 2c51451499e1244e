// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "store/notify_store.h"
#include "store/plan_store.h"
#include "store/store.h"

// Finds what is to be told and puts it down in the store. On a worker.
namespace tidemill {

struct NewsDeps {
  Store& store;
  PlanStore* plans;  // null: nobody knows what jobs cost
  NotifyStore& notify;
  std::function<NotificationId()> new_id;  // may be called on any thread
  std::int64_t now_ms = 0;
};

// Looks at some jobs after this one whose state nobody has been told of. Answers where to go on; 0:
// that was the last.
Result<JobId> TellStates(const NewsDeps& deps, JobId after);

// These jobs are out of budget.
Result<void> TellBudgets(const NewsDeps& deps, const std::vector<JobId>& jobs);

}  // namespace tidemill
