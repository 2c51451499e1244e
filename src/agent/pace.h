// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "agent/deps.h"
#include "base/loop.h"
#include "model/spec.h"

namespace tidemill {

// How fast the items of a job run on this machine. A value.
class Pace {
 public:
  // One has ended now.
  void Add(TimePoint now, Duration took);

  // On average, from its begin to its end; zero: none has ended yet.
  double mean_us() const { return mean_us_; }
  // How many ran at a time: one in each container, but for a loop's program, which may take many
  // at once. At least one.
  double together() const;
  // What `count` items in `slots` containers will take.
  double LastsUs(int count, int slots) const;

 private:
  double mean_us_ = 0;
  double together_ = 0;  // before begin_, falling slowly
  // What the items that ended since begin_ ran since then, and when the last of them did.
  TimePoint begin_{};
  TimePoint last_{};
  TimePoint burst_{};  // since when ends have come one right after the other
  double run_us_ = 0;
};

// How many runs one container is given at a time.
struct DepthQuery {
  Mode mode = Mode::kProcess;
  int slots = 1;       // containers that there are, or, of a loop, could be
  int unfinished = 0;  // items for all of them
};
int DepthOf(const Pace& pace, const DepthQuery& query, const AgentLimits& limits);

}  // namespace tidemill
