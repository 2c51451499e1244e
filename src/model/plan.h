// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/price.h"

// What the leader has decided, and what it has put down: written by one server, read by all.
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

// Where the time and the money of a machine go.
enum class Account : std::int16_t {
  kJob = 0,   // something of a job was leased
  kIdle = 1,  // it had joined, and nothing was
  kBoot = 2,  // it had not joined yet, or never did
  // A job's work of which nothing came: its items were interrupted, or lost with the machine.
  kLost = 3,
};

struct Entry {
  Account account = Account::kIdle;
  JobId job;  // of kJob and kLost
  Duration time{};
  Money amount;
  bool operator==(const Entry&) const = default;
};

// A machine, by what never changes of it.
struct MachineKey {
  std::string project;
  std::string pool;
  std::int64_t number = 0;
  auto operator<=>(const MachineKey&) const = default;
};

// A machine as its provider sees it.
struct ProviderSight {
  MachineKey key;
  TimePoint since{};               // billed from then on
  std::optional<TimePoint> ended;  // billed until then; nothing: it is there
  std::string id = {};             // what its provider calls it; empty: as its name
};

// What providers have said of their machines at one time.
struct ProviderLook {
  std::vector<ProviderSight> seen = {};
  // Project and pool: all of its machines that its provider knows are in `seen`.
  std::set<std::pair<std::string, std::string>> listed = {};
};

// A machine that its provider has not listed for so long, and that has no session, is gone. New
// ones appear in lists within a minute or two; what has ended leaves them after an hour or more.
inline constexpr Duration kMissingTime = std::chrono::minutes(10);

// The plan that is in force, and what runs, as one server needs it to grant.
struct SessionUse {
  SessionId session;
  std::string project;
  std::string pool;
  Resources shape;
  std::map<JobId, std::int64_t> owed;  // items, by job
  bool operator==(const SessionUse&) const = default;
};
struct PlanInForce {
  std::int64_t seq = 0;  // grows with each plan that differs from the one before; 0: none yet
  std::map<std::string, Plan> plans;  // by project
  std::vector<SessionUse> uses;       // of sessions that live and have a lease, by id
};

}  // namespace tidemill
