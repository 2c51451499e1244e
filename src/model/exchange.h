// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/loop.h"
#include "model/ids.h"
#include "model/lease.h"
#include "model/session.h"
#include "model/stream.h"
#include "model/sync.h"

namespace tidemill {

// Items that have been on machines that vanished so often that they are suspects: a plan may want
// them on machines that stay.
enum class WornItems : std::uint8_t { kAlso, kOnly, kNot };

// A lease that the server would like the agent to have, if the job has free items.
struct Ask {
  JobId job;
  int max_items = 0;
  LeaseId lease;  // the id it gets if it is granted
  // What the job gives an item now, and what this agent could give one: an item that needs more
  // than the first, and no more than the second, is leased with what it needs.
  std::int64_t memory_bytes = 0;
  std::int64_t room_bytes = 0;
  WornItems worn = WornItems::kAlso;
};

// One agent's sync, as the store carries it out.
struct SyncOrder {
  SessionId session;
  std::string token;  // as in SessionPass
  std::string spare;  // the token that it gets if its own has grown old; empty: none
  Duration token_life = limits::kSessionTokenLife;
  std::string address;         // where it came from
  Duration life{};             // how long the session lives on from now
  std::vector<LeaseId> known;  // the leases the agent holds
  std::vector<Settlement> settlements;
  std::vector<Ask> asks;                // in order of preference; at most one is granted
  std::optional<MachineStatus> status;  // what people see from now on; nothing: as before
  std::vector<Trouble> troubles;        // jobs that it says it cannot run
  bool leaving = false;  // the agent stops: what it owes is free again, its session ends
};

// A lease as an agent gets it.
struct Grant {
  Lease lease;
  std::int64_t first_item = 0;  // of its chunk
  std::vector<ItemTry> tries;   // of those of its items that have one
  bool operator==(const Grant&) const = default;
};

// A settlement that cannot be believed: a bug of the agent, or a lie. It changed nothing.
struct Refusal {
  LeaseId lease;
  std::int32_t seq = 0;
  std::string reason;
  bool operator==(const Refusal&) const = default;
};

struct SyncResult {
  // There is no such session, or it is dead, or the token is not its own; all else is empty.
  bool lost = false;
  std::string token;          // use this one from now on; empty: go on with the one you have
  bool draining = false;      // gets no new leases
  std::vector<Grant> grants;  // active leases that the agent did not know, or else a new one
  std::vector<LeaseId> gone;  // known to the agent, not active: stop these items, report nothing
  std::vector<Refusal> refused;
  // Jobs whose logs somebody reads as they come; the server's word. Maybe not all are the agent's.
  std::vector<JobId> followed;
  // Of these jobs the agent gives back what it has not begun; the server's word.
  std::vector<JobId> back = {};
  // So many items of a job it may run side by side, of each that it holds; the server's word. A job
  // that is not here: as many as fit.
  std::map<JobId, std::int64_t> limits = {};
  // What people want of what the agent runs; the server's word. It may be told more than once.
  std::vector<AskedStream> streams = {};
  std::string project;                      // the session's
  std::string machine = {};                 // and the name of its machine,
  std::string pool = {};                    // and this,
  Resources shape = {0, 0};                 // and what its machine has
  std::map<JobId, std::int64_t> owed = {};  // items of its leases by now, by job
  std::string before_from;  // where its last sync came from, if it was another address
  bool operator==(const SyncResult&) const = default;
};

// Syncs of many agents, carried out as one transaction.
struct Exchange {
  std::vector<SyncOrder> syncs;
  std::map<JobId, std::int32_t> cursors;  // where to look for free chunks first; absent means 0
};

// `freed` are jobs in which items became free again by this transaction, and those whose free items
// were all held by others just now: not dry, but to be asked for again.
struct ExchangeResult {
  std::vector<SyncResult> syncs;          // one for each, in the same order
  std::map<JobId, std::int32_t> cursors;  // of the jobs that granted something: where it was
  std::vector<JobId> dry;                 // jobs in which nothing free was found
  std::vector<JobId> freed;               // jobs to ask for again soon
  std::vector<JobId> chunk_done;          // jobs in which a chunk was completed: maybe finished
  // Those of jobs of which the session held a lease when its sync came: nobody else is believed.
  // One a job, by job.
  std::vector<Trouble> troubles;
  std::int64_t outcomes = 0;  // recorded by this transaction
  bool operator==(const ExchangeResult&) const = default;
};

}  // namespace tidemill
