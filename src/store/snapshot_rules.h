// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/plan.h"
#include "model/snapshot.h"
#include "store/plan_store.h"

// What both stores say alike about what they read.
namespace tidemill {

Duration FromSeconds(double seconds);
// Nothing without items.
std::optional<ItemTimes> TimesOf(std::int64_t items, double seconds, double squares);

// Of the leases on a machine, what runs side by side: no more than fits, and at least one.
std::vector<MachineLease> LeasesOn(const Resources& has, const std::map<JobId, std::int64_t>& owed,
                                   const std::map<JobId, Resources>& needs,
                                   const std::map<JobId, std::string>& waits);

// Gives machines their ids and what the plan holds them for, projects their default queue, and
// leaves out those in which nothing can happen.
Snapshots FinishSnapshots(TimePoint now, std::map<std::string, Snapshot> projects,
                          const std::map<std::string, Plan>& plans);

}  // namespace tidemill
