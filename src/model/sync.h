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
#include "model/lease.h"
#include "model/policy.h"
#include "model/session.h"

// What agents say to servers. The answers are Joined and SyncResult.
namespace tidemill {

// What a cloud says of a machine, signed: instead of a join token.
struct MachineProof {
  std::string provider;   // "aws" or "gcp"
  std::string document;   // the instance identity document, to the byte; of gcp, a JSON Web Token
  std::string signature;  // of the document, in base64; of gcp, empty
  bool operator==(const MachineProof&) const = default;
};

struct JoinRequest {
  SessionId session;  // made by the agent, so that it may ask again
  std::string machine;
  // Made on the machine and kept there: whoever joins under its name later must have it too.
  std::string machine_key;
  // A pool's, which says where the machine belongs; or the session's own, to go on with it.
  std::string join_token;
  Resources shape;
  std::string address = {};                // where it came from; the server knows
  std::optional<MachineProof> proof = {};  // instead of a token; then also:
  std::string pool = {};                   // to which it says that it belongs
  std::string project = {};
};

// What an agent is told when it joins.
struct Joined {
  SessionId session;
  SessionState state = SessionState::kAlive;
  Duration heartbeat{};  // a sync is due this often
  Duration life{};       // without a sync for this long the session may end
  std::string token = {};
  ContainerPolicy policy = {};  // of its pool
  std::int64_t log_bytes = 0;   // that one attempt may write, by its project; 0: as the agent likes
  std::string machine = {};     // its name, as the server has it; empty: as it was given
  bool operator==(const Joined&) const = default;
};

// How long items of a job ran, all together. Sizes leases and forecasts; decides nothing else.
struct Measured {
  JobId job;
  std::int64_t items = 0;
  std::int64_t run_ms = 0;
  double squares = 0;        // of the seconds of those that succeeded, added up
  std::int64_t lost_ms = 0;  // not in run_ms: attempts of which nothing came, as they were ended
};

// This job cannot run on this machine, whatever is tried: there is no such image, for one.
struct Trouble {
  JobId job;
  std::string reason;  // for people
  bool operator==(const Trouble&) const = default;
};

struct SyncRequest {
  SessionId session;
  std::string token;         // as in SessionPass
  std::string address = {};  // where it came from; the server knows
  Resources free{0, 0};      // what is left over by those items that it `holds`
  // Items of each job that it has not ended, but for jobs of which all is over before a sync could
  // bring more. Nothing: it does not say.
  std::optional<std::map<JobId, std::int64_t>> holds;
  std::vector<JobId> resting;  // nothing of these can run here for a while
  std::vector<LeaseId> known;  // the leases it holds
  std::vector<Settlement> settlements;
  std::vector<Measured> measured;
  std::optional<MachineStatus> status;  // nothing: as it said last
  std::vector<Trouble> troubles;
  bool leaving = false;
};

}  // namespace tidemill
