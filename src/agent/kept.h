// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an agent keeps of attempts and jobs beside their leases.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/verdict.h"
#include "agent/work.h"
#include "base/loop.h"
#include "data/job_cache.h"
#include "engine/engine.h"

namespace tidemill {

// It cannot run here, until it is tried again.
struct RestingJob {
  TimePoint until = {};
  std::string reason = {};
  bool for_good = false;  // only a person can change it: the servers are told
  bool told = false;      // and have heard it
};

// Its containers do not open just now.
struct FailingJob {
  TimePoint since;
  std::string reason;
  bool told = false;  // as a trouble of the job: it has lasted
};

// Of items that ended: how long their containers were taken by them.
struct RanItems {
  std::int64_t items = 0;
  std::int64_t us = 0;
  double squares = 0;        // of the seconds of those that succeeded
  std::int64_t lost_us = 0;  // of attempts that are not among these items; see Measured
};

// It has ended well, and its outputs are being stored.
struct StoringAttempt {
  Attempt attempt;
  ItemEnd end;
  TimePoint since;
  int failures = 0;
};

// It runs, and its checkpoint is saved by the clock.
struct WatchedAttempt {
  Attempt attempt;
  CheckpointWork work;
  Duration every;
  TimePoint due;
  bool saving = false;
  std::string complaint = {};  // that its log has last
};

// It has ended, and its last checkpoint is being saved before that is told.
struct EndingAttempt {
  Attempt attempt;
  CheckpointWork work;
  ItemEnd end;
  StopWhy why = StopWhy::kNone;
  std::string tail = {};
};

// What all items of a job need: here, or on its way for these leases.
struct CachedJob {
  JobCache::Held held = {};
  std::vector<LeaseId> waiting = {};
};

}  // namespace tidemill
