// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/lease.h"

// What agents say to servers. The answers are Session and SyncResult.
namespace tidemill {

struct JoinRequest {
  SessionId session;  // made by the agent, so that it may ask again
  std::string machine;
  std::string pool;
  Resources shape;
};

// How long items of a job ran, all together. Sizes leases; decides nothing else.
struct Measured {
  JobId job;
  std::int64_t items = 0;
  std::int64_t run_ms = 0;
};

struct SyncRequest {
  SessionId session;
  Resources free{0, 0};        // what its running items leave over
  std::vector<LeaseId> known;  // the leases it holds
  std::vector<Settlement> settlements;
  std::vector<Measured> measured;
  bool leaving = false;
};

}  // namespace tidemill
