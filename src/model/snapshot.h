// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/pool.h"
#include "model/price.h"
#include "model/queue.h"

// What the leader reads each second, of one project: machines are never shared between projects, so
// each is planned alone. All that is decided here is a function of these values and of `now`.
//
// All times are the database's, as microseconds since 1970: two leaders then mean the same by them.
// Names and ids are unique; what names something that is not there counts as not there.
namespace tidemill {

// What the provider said when it last refused; nothing of it holds for ever.
struct ProviderWord {
  std::optional<TimePoint> no_capacity_until;  // nothing is ordered before
  std::int32_t tried = 0;                      // times in a row that there was no capacity
  std::optional<std::int64_t> quota;           // machines of this pool that the account may have
  std::string words;                           // its own, for people
};

// Machines of one kind from one provider.
struct PlanPool : PoolMachines {
  std::string name;
  ProviderWord provider_word;
  // The number that the next machine gets: one more than that of any ever ordered.
  std::int64_t next_number = 0;
  std::int32_t never_joined = 0;  // machines in a row; one that joins, or a person, sets it to 0
  TimePoint never_joined_at{};    // the last of them ended
};

// How long the items of a job take, as measured.
struct ItemTimes {
  std::int64_t count = 0;  // of items; not 0
  Duration mean{};
  Duration spread{};  // the standard deviation
};

struct PlanJob {
  JobId id;
  std::string name;  // as people know it: "render-7"
  std::string owner;
  std::string queue;
  std::int32_t priority = 0;  // inside its queue; the higher is served first
  TimePoint submitted{};
  TimePoint served{};  // when a lease of it was last granted; when it was submitted, if never
  // Since when it runs without a break, as far as whoever plans has seen; long ago if nobody knows.
  TimePoint runs_since{};
  Resources need;  // of one item
  // Its items that are not done: free to be leased, resting before a retry, and under a lease.
  std::int64_t waiting = 0;
  std::int64_t resting = 0;
  std::int64_t leased = 0;
  // Those of `waiting` and `leased` that were interrupted so often that they are worth a machine
  // that is not spot.
  std::int64_t worn_waiting = 0;
  std::int64_t worn_leased = 0;
  std::optional<ItemTimes> times;  // nothing until an item has succeeded
  Duration worked{};               // by all its attempts, those that were lost too
  Duration lost{};                 // by those of which nothing came
  std::optional<std::int64_t> max_parallel;
  std::optional<TimePoint> deadline;
  std::optional<Money> budget;
  Money spent;
  Labels labels;                      // a pool must have all of them
  std::optional<std::string> paused;  // why; empty if a person did it
  TimePoint rest_until{};             // when the first of `resting` is due
  std::vector<JobId> after;           // jobs that must be over first, and are not
};

// ordered ──▶ booting ──▶ joined ──▶ draining ──▶ gone
//    └───────────┴── never joined ────────────────▲
//
// A machine never goes back. `gone` machines may be left out of a snapshot.
enum class MachineState : std::uint8_t { kOrdered, kBooting, kJoined, kDraining, kGone };

// What is leased of one job on one machine.
struct MachineLease {
  JobId job;
  std::int64_t slots = 0;  // items that run side by side, not all that its leases still owe
  std::string waits_for;   // "pulling its image: 40 %"; empty: for nothing
};

struct PlanMachine {
  std::string id;    // its name; "pool/name" if that is not its alone
  std::string name;  // as its agent joins with, and its provider knows it
  std::string pool;
  std::int64_t number = 0;  // in its pool; see Order in plan/autoscale.h
  MachineState state = MachineState::kOrdered;
  TimePoint since{};  // when it entered its state
  Resources has;      // when it has joined
  std::vector<MachineLease> leases;
  std::vector<JobId> resting;  // jobs of which nothing can run there for a while, says its agent
  TimePoint idle_since{};      // of one that has joined and has no lease
  Money price;                 // an hour
  TimePoint billed_from{};
  std::optional<TimePoint> joined;    // nothing: never, so far
  std::optional<JobId> reserved_for;  // by the plan before this one
  bool ordered = false;               // by us; the others came by themselves, and are not ended
  bool ending = false;                // its provider was asked to end it
  SessionId session;                  // the one that lives; none: it is not there
  TimePoint put_down_until{};         // its time is in the accounts up to here
  // Since then its provider has not listed it, and it has no session: most likely it is not billed.
  std::optional<TimePoint> missing_since = {};
};

struct Snapshot {
  std::vector<Queue> queues;
  std::vector<PlanPool> pools;
  std::vector<PlanJob> jobs;
  std::vector<PlanMachine> machines;
};

}  // namespace tidemill
