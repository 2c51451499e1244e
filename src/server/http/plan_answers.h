// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "server/outlook.h"
#include "store/plan_store.h"
#include "wire/cost_json.h"
#include "wire/settings_json.h"
#include "wire/why_json.h"

// What is decided of a project, as people read it. Pure.
namespace tidemill {

// `decided` may be null, and need not know the job: then its state is the reason.
JobWhy JobWhyOf(const Decided* decided, const Job& job);

// By what people call it: its name, its id, or its session. kNotFound; kInvalid: several are
// called so.
Result<MachineWhy> MachineWhyOf(const Decided& decided, const std::string& asked);

JobCost JobCostOf(const Decided* decided, const JobCounts& job, const std::vector<JobMoney>& money);

// `jobs` are those of which there is money.
ProjectCosts CostsOf(const std::vector<Job>& jobs, const std::vector<JobMoney>& money,
                     const std::vector<Entry>& overhead);

PoolsNow PoolsNowOf(const Decided& decided);

}  // namespace tidemill
