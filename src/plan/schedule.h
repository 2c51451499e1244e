// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/plan.h"
#include "model/snapshot.h"
#include "plan/index.h"

namespace tidemill {

// A job that has run nothing for so long goes ahead of all priorities and shares with one slot; at
// most every eighth slot is given in this way. So whoever is in a queue with a share waits at most
// for this, and then for others that have waited longer.
inline constexpr Duration kPatience = std::chrono::minutes(5);
// Where there are more jobs than slots, a job that begins has its slot for so long before it is
// another's turn.
inline constexpr Duration kTurnTime = std::chrono::seconds(15);
// Machines that empty themselves for large items earn nothing meanwhile: at most every eighth, or
// one, and never more than this.
inline constexpr std::int64_t kReservationsMax = 16;

// Whose turn it is, for the machines that have joined.
//
// - Queues by priority: one is served only with what those above it cannot use. Among queues of one
//   priority by share; queues with share 0 come after all others.
// - In a queue, jobs by priority; then owners, then the jobs of an owner, by the resource of which
//   they use most (dominant-resource fairness). Who has run nothing for longest is first among
//   equals.
// - No limit of a queue or job is passed by what is added, counting also what runs beyond its
// share.
//   If more runs than a limit allows, nothing is added.
// - Shares are of all machines, free or not: the plan changes at once, and comes true as items end.
// - What is free, and what nobody with a better claim can use now, goes to whoever can.
// - A row fits on the machines of its pool together with all others, but for what was added by the
//   last rule; an agent takes only what fits.
//
// The same snapshot and `now` give the same plan. Cost: jobs, machines, and some thousand turns.
Plan MakePlan(const SnapshotIndex& index, TimePoint now);

}  // namespace tidemill
