// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/job.h"
#include "rehearse/duration_spread.h"
#include "rehearse/played_pool.h"
#include "rehearse/spot_trace.h"
#include "wire/rehearsal_json.h"

namespace tidemill {

// A job that is to be played, and where.
struct Rehearsal {
  JobSpec spec;  // of its document only what PlayedSpec keeps counts
  std::int64_t items = 1;
  DurationSpread lengths;
  double failing = 0;             // the part of the attempts that fail by themselves
  std::vector<PlayedPool> pools;  // in the order in which its queue uses them; each name once
  double interrupted = 0;         // the part of the spot machines that is taken away in an hour
  std::vector<SpotLoss> losses;   // in the order of time
  Duration notice = std::chrono::minutes(2);  // of machines that are taken away; 0: none
  std::uint64_t seed = 1;
};

// How far the play is. False: it is to end.
using RehearsalProgress = std::function<bool(Duration at, std::int64_t done)>;

// Plays the job to its end, and until its last machine is gone: a server with its leader, a store
// and an agent a machine, all of them the real ones, on a virtual clock. Equal values give equal
// results. kInvalid: it cannot end, and why. kUnavailable: it was ended by `progress`.
Result<Rehearsed> Rehearse(const Rehearsal& rehearsal, const RehearsalProgress& progress = {});

}  // namespace tidemill
