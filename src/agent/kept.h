// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an agent keeps of attempts that have checkpoints, and of jobs that have a cache.

#include <string>
#include <vector>

#include "agent/verdict.h"
#include "agent/work.h"
#include "base/loop.h"
#include "data/job_cache.h"
#include "engine/engine.h"

namespace tidemill {

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
