// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/snapshot.h"
#include "plan/index.h"

namespace tidemill {

enum class OrderFor : std::uint8_t {
  kMin,     // the pool's least
  kSteps,   // the depth of its queues
  kCanary,  // a job of which nothing is known yet
  kWork,    // the work that is left
};

// The machines number `first` to `first + count - 1` of a pool. An order names its machines:
// whoever carries it out adds the rows (pool, number) that are not there, and orders under that
// name. So an order that is said twice is done once, and one from an old snapshot only names
// machines that the newer one has named too, or that still fit: with any number of leaders, late or
// not, the machines of a pool that are not gone are never more than the largest `max` that one of
// them has seen.
struct Order {
  std::string pool;
  std::int64_t first = 0;
  std::int64_t count = 0;            // not 0
  OrderFor reason = OrderFor::kMin;  // the strongest, if there are several
  bool operator==(const Order&) const = default;
};

enum class DrainFor : std::uint8_t { kIdle, kDisabled, kOverMax };

// The machine gets no more leases and ends what it has. A joined machine; drained twice is once.
struct Drain {
  std::string machine;
  DrainFor reason = DrainFor::kIdle;
  bool operator==(const Drain&) const = default;
};

enum class EndFor : std::uint8_t { kDrained, kNeverJoined };

// The machine is ended if it is still in the state that was seen, and nothing is leased on it:
// one that joined meanwhile is left alone.
struct End {
  std::string machine;
  MachineState seen = MachineState::kDraining;
  EndFor reason = EndFor::kDrained;
  bool operator==(const End&) const = default;
};

// Why a pool gets no machines, or fewer than are wanted.
enum class Hold : std::uint8_t {
  kNone,
  kNoProvider,
  kDisabled,
  kProtected,   // kNeverJoinedMost machines in a row never joined: one is tried now and then
  kNoCapacity,  // until the provider is asked again
  kPrice,       // above max_price
  kMax,         // more are wanted
  kQuota,       // more are wanted
  kSteps,       // more are wanted than its steps give
};

// Of each pool, in the order of the snapshot: for people, and for `why`.
struct PoolOutlook {
  std::string pool;
  std::int64_t coming = 0;   // ordered, booting or joined, before this
  std::int64_t ordered = 0;  // by this
  std::int64_t needed = 0;   // that have something to do
  std::int64_t limit = 0;    // machines it may have
  Hold hold = Hold::kNone;
  bool operator==(const PoolOutlook&) const = default;
};

struct Wanted {
  std::vector<Order> orders;  // at most one a pool
  std::vector<Drain> drains;
  std::vector<End> ends;
  std::vector<PoolOutlook> pools;
  bool operator==(const Wanted&) const = default;
};

// After so many machines in a row that never joined, the next would most likely not either. One is
// tried when the last has ended so long ago; with each that does not join it is twice as long.
inline constexpr std::int32_t kNeverJoinedMost = 3;
inline constexpr Duration kFirstTrial = std::chrono::minutes(15);
inline constexpr Duration kLatestTrial = std::chrono::hours(4);
// When one is tried again; nothing: the pool is not protected.
std::optional<TimePoint> NextTrial(const PlanPool& pool);

// Which machines there should be: what DemandsOf wants, inside all limits, on the machines that are
// there or on their way, and the whole rest ordered at once.
//
// - A queue's pools are used in their order; one that has no capacity, is too dear, protected or
//   full is passed over, for as long as that is so. Machines of a later pool that are there already
//   are used before others are ordered, unless those cost less.
// - What was interrupted often is wanted from pools that are not spot, if the queue has one.
// - A pool that is neither disabled nor held gets its `min`.
// - A machine is drained when it has been idle for its pool's time, has lived for the least that is
//   billed, and neither work nor `min` want it; those that have been idle longest first. Nothing is
//   ever ended by count.
// - Ended is what has drained and is empty, and what has not joined in its boot limit.
// - Machines without a provider, or of a pool that is not in the snapshot, are left alone.
//
// The same snapshot and `now` give the same answer. Cost: jobs and machines.
Wanted Autoscale(const SnapshotIndex& index, TimePoint now);

// The machines that `min` and `max` of a pool mean.
std::int64_t MinMachines(const PlanPool& pool);
std::int64_t MaxMachines(const PlanPool& pool);
// Those that it may have: `max`, or what the provider's quota allows. A quota is believed until the
// provider is to be asked again: it may have been raised.
std::int64_t MachineLimit(const PlanPool& pool, TimePoint now);
// What the price may be, if there is a limit.
std::optional<Money> PriceCap(const PlanPool& pool);

}  // namespace tidemill
