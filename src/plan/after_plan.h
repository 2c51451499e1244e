// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/caps.h"
#include "plan/claims.h"
#include "plan/index.h"
#include "plan/schedule.h"

// What a plan leaves, for those who must say why there is no more.
namespace tidemill {

// The limits, when all that runs and all that the plan adds is counted.
Caps CapsAfter(const SnapshotIndex& index, const Plan& plan);

// Whether an item of a claim fits on a machine now, beside what is leased there, and may: it is not
// kept free for another job.
bool HasRoomFor(const SnapshotIndex& index, const Plan& plan, const Claim& claim);

}  // namespace tidemill
