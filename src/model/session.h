// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "model/ids.h"
#include "model/job.h"

namespace tidemill {

// alive ──drain──▶ draining ──┐
//   └──left, or reaped───────▶ dead
//
// A session never leaves `dead`: its agent joins anew. Passing its expiry makes a session reapable;
// only the reaper's commit makes it dead, so a late agent that nobody has reaped goes on.
enum class SessionState : std::int16_t { kAlive = 0, kDraining = 1, kDead = 2 };

// What an agent shows with each call. The token is a secret of an hour, turned over by syncs;
// stores keep no more of it than its hash.
struct SessionPass {
  SessionId session;
  std::string token;
  bool operator==(const SessionPass&) const = default;
};

struct NewSession {
  SessionId id;  // made by the agent, so that the call may be repeated
  std::string machine;
  std::string project;
  std::string pool;
  Resources shape;
  Duration life{};          // without a sync for this long it may be reaped
  std::string machine_key;  // see JoinRequest
  std::string token;        // that the agent is given
  std::string address;      // where it joined from
};

struct Session {
  SessionId id;
  std::string machine;
  std::string project;
  std::string pool;
  Resources shape;
  SessionState state = SessionState::kAlive;
  std::string aside = {};  // why it was put aside, which is a drain; empty: it was not
  bool operator==(const Session&) const = default;
};

// How far an item says it is.
struct ItemProgress {
  std::int64_t item = 0;
  std::int32_t permille = 0;
  std::string note = {};  // "epoch 3 of 10"
  bool operator==(const ItemProgress&) const = default;
};

// What the items of one job use of a machine at the moment.
struct JobUse {
  JobId job;
  int running = 0;
  std::int64_t millicpus = 0;
  std::int64_t memory_bytes = 0;
  std::string trouble = {};                 // why it does not run here just now; empty: it does
  std::string waits_for = {};               // "pulling its image: 40 %"; empty: for nothing
  std::vector<ItemProgress> progress = {};  // of some of those that run and say so
  bool operator==(const JobUse&) const = default;
};

// What an agent says of its machine: for people, decides nothing.
struct MachineStatus {
  std::string engine;     // what runs its containers
  bool enforces = false;  // whether items are held to what they asked for
  std::vector<JobUse> jobs;
  // In a cloud, else empty: what it is there, and where.
  std::string type = {};  // "c7i.4xlarge"
  std::string zone = {};  // "eu-west-1a"
  bool spot = false;      // it may be taken away
  bool operator==(const MachineStatus&) const = default;
};

// A session that is not dead, as people see it.
struct ListedMachine {
  Session session;
  std::int64_t joined_ms = 0;  // the database's clock, since 1970
  std::int64_t seen_ms = 0;    // when it joined or last synced
  std::int64_t leases = 0;
  std::int64_t items = 0;               // that it holds a lease of
  std::optional<MachineStatus> status;  // nothing until its agent says so
  bool operator==(const ListedMachine&) const = default;
};

}  // namespace tidemill
