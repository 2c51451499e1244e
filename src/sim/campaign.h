// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/loop.h"
#include "base/result.h"
#include "sim/outcome.h"
#include "sim/plan.h"

namespace tidemill {

struct SimTotals {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::int64_t settlements = 0;
  std::int64_t faults = 0;
  double machine_hours = 0;
};

// Seeds from the first one on.
struct Campaign {
  std::uint64_t first = 1;
  std::optional<std::uint64_t> count;
  std::optional<Duration> time;  // after so long no more are begun
  int jobs = 1;                  // processes side by side
  std::function<TimePoint()> clock;
  // Comes after each seed, and else at least once a second.
  std::function<void(const SimTotals&)> on_progress;
};

struct SeedFailure {
  std::uint64_t seed = 0;
  SimOutcome outcome;
};

struct CampaignEnd {
  SimTotals totals;  // of the good ones
  std::optional<SeedFailure> failure;
};

// Plays each seed in a process of its own, up to the first failure, which ends those beside it.
// kUnavailable: no process could be made.
Result<CampaignEnd> PlaySeeds(const Campaign& campaign,
                              const std::function<SimOutcome(std::uint64_t)>& play);

// A run that is not the same again cannot be repeated: this breaks the invariant S26.
SimOutcome PlayTwice(const SimPlan& plan, const std::function<SimOutcome(const SimPlan&)>& play);

}  // namespace tidemill
