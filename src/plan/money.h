// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/plan.h"
#include "model/snapshot.h"
#include "plan/index.h"

namespace tidemill {

// What a provider bills for a machine until `at`: by the second, until it is gone; then for at
// least `at_least`, which is its pool's. What a machine costs that was there for less is put down
// with its end.
Money BillUntil(const PlanMachine& machine, TimePoint at, Duration at_least);

// Puts down what a machine did from `from` to `to`, as it is in the snapshot: what is leased on it
// counts for all of this time since it joined. Whoever keeps accounts calls it at each change, or
// every few seconds; the finer, the truer.
//
// - The times add up to the time that is billed, the amounts to BillUntil(to) - BillUntil(from). So
//   over intervals without gaps they add up to the bill, to the micro-dollar, however they are cut.
// - Jobs share a machine by the resource of which each has most leased, and they share all of it:
//   what they leave over is theirs, too. They are why the machine is there, and an item that fits
//   badly should cost what it costs. `kIdle` is then what nobody used, and a reason to scale in.
std::vector<Entry> PutDown(const SnapshotIndex& index, std::size_t machine, TimePoint from,
                           TimePoint to);

// What a job has had of a machine.
struct Worked {
  Duration all{};   // the times of all its attempts there, added up
  Duration lost{};  // of those that were interrupted or lost; at most `all`
};
// Moves what was lost from the job to kLost: two entries that add up to nothing, so the sum stays
// the bill. `put_down` is what the job has been put down for on this machine, less what was moved
// before.
std::vector<Entry> MoveLost(JobId job, const Worked& worked, const Entry& put_down);

// Parts of `total` in proportion to `weights`, which are not negative: they add up to it, and none
// is further than 1 from its exact part. What is left over goes to the largest remainders; among
// equal ones to the first. Without any weight all goes to the first; there is at least one.
std::vector<std::int64_t> SplitExactly(std::int64_t total,
                                       const std::vector<std::int64_t>& weights);

}  // namespace tidemill
