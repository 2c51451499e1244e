// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/index.h"

// Which jobs may run where, and what a slot of theirs costs: said once, for the plan, for the
// autoscaler and for `why`, so that they cannot contradict each other.
namespace tidemill {

// Why nothing of a job may be started, whatever machines there are.
enum class JobBar : std::uint8_t {
  kNone,
  kPaused,
  kAfter,
  kNoQueue,
  kQueueDisabled,
  kNothingWaits,
  kNoPool,  // its queue has none that allows it; PoolBarOf says of each why
};

// Why a job cannot run on the machines of a pool, now or later.
enum class PoolBar : std::uint8_t {
  kNone,
  kMissing,  // the queue names it, and there is none
  kDisabled,
  kLabels,
  kDevices,   // no machine of it has so many of a kind
  kTooLarge,  // no machine of it has so many cpus, or so much memory
};

JobBar JobBarOf(const SnapshotIndex& index, std::size_t job);
// `pool`: nothing if there is none of that name.
PoolBar PoolBarOf(const SnapshotIndex& index, std::size_t job, std::optional<std::size_t> pool);

// What one slot of a job takes from the limits of its queue and its job, in one pool.
struct SlotCost {
  std::int64_t machine_ppm = 0;  // of a machine, by the resource of which it takes most
  Money an_hour;
  Money committed;  // see kBudgetWindow
};

// A machine costs money after nothing more is handed out: until the accounts are made up (60 s),
// the agent has asked again (30 s) and the provider has ended the machine (180 s). A slot is given
// only if its job can pay for this long and for an item, as long as items are known to take. So
//   spent <= budget + slots x price x kBudgetWindow
// also if each item takes as long as the longest was expected to.
inline constexpr Duration kBudgetWindow = std::chrono::seconds(60 + 30 + 180);

// The part of a machine of this shape that an item takes, by the resource of which it takes most.
std::int64_t MachinePpm(const Resources& shape, const Resources& need);
SlotCost SlotCostOf(const SnapshotIndex& index, std::size_t job, std::size_t pool);

// Items of one job that may run in the same pools. A job has one claim, or a second one for those
// of its items that were interrupted often, if its queue has a pool that is not spot and that has
// machines, or could have some.
struct Claim {
  std::size_t job = 0;
  std::size_t queue = 0;
  bool worn = false;
  std::vector<std::size_t> pools = {};  // in the order of the queue; not empty
  std::vector<SlotCost> costs = {};     // in each of `pools`
  std::int64_t running = 0;             // slots
  std::int64_t waiting = 0;             // items
  std::int64_t leased = 0;              // items, those that run among them
};

// Of all jobs that are held up by no JobBar, or run something: in the order of the snapshot.
std::vector<Claim> ClaimsOf(const SnapshotIndex& index);

}  // namespace tidemill
