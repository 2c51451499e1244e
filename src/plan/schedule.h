// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/index.h"
#include "plan/snapshot.h"

namespace tidemill {

// How many items of a job may run in a pool. It counts those that run already: servers grant while
// the slots in use there are fewer. If more are in use, none is taken away and none is added.
struct PlanRow {
  JobId job;
  std::string pool;
  std::int64_t slots = 0;  // not 0
  // Those of them that are for items that were interrupted often: such items are granted here
  // first, up to this. A job with no such slots in any pool may run them wherever it runs the
  // others.
  std::int64_t worn_slots = 0;
  bool operator==(const PlanRow&) const = default;
};

// A machine that gets leases of this job only, until the job has begun on it: otherwise the small
// items of others would fill every gap before the large one fits.
struct Reservation {
  std::string machine;
  JobId job;
  bool operator==(const Reservation&) const = default;
};

struct Plan {
  std::vector<PlanRow> rows;  // by job, then pool, in the order of the snapshot; each pair once
  std::vector<Reservation> reserved;  // each machine once
  bool operator==(const Plan&) const = default;
};

// A job that has run nothing for so long goes ahead of all priorities and shares with one slot; at
// most every eighth slot is given in this way. So whoever is in a queue with a share waits at most
// for this, and then for others that have waited longer.
inline constexpr Duration kPatience = std::chrono::minutes(5);
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
