// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/pool.h"
#include "store/plan_store.h"
#include "store/store.h"

namespace tidemill {

// What a pool's provider is to do after a round.
struct PoolWork {
  PoolSettings pool;
  ProviderWord word;              // as it stands
  std::vector<std::string> make;  // ordered, and not made as far as is known
  std::vector<std::string> end;   // by name
  TimePoint now{};                // the store's clock
};

// What was decided, for the log.
struct RoundNews {
  std::int64_t ordered = 0;
  std::int64_t drained = 0;
  std::int64_t ended = 0;
};

struct Round {
  std::vector<PoolWork> pools;  // all that have a provider
  RoundNews news;
  bool idle = true;                       // there is no job, and no provider that could be needed
  std::map<JobId, TimePoint> runs_since;  // for the next round
};

// One second of the leader's life: sees to the machines' rows, reads everything, decides for each
// project, writes the plan and what is wanted, and puts the money down. Blocks, as the store does.
//
// Each write stands alone and says what always may be said again, so it does not matter where a
// round breaks off. Nothing is ordered from a provider that this server does not have.
struct RoundNeeds {
  std::int64_t epoch = 0;
  std::set<std::string> providers;
  ProviderLook look;
  std::map<JobId, TimePoint> runs_since = {};  // as the last round saw it
};
Result<Round> RunRound(Store& store, PlanStore& plans, const RoundNeeds& needs);

}  // namespace tidemill
