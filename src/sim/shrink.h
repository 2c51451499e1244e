// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/loop.h"
#include "sim/outcome.h"
#include "sim/plan.h"

namespace tidemill {

// Somebody waits for the answer: with so much, most plans are as small as they get.
struct ShrinkLimits {
  int runs = 200;
  Duration time = std::chrono::seconds(60);
  std::function<TimePoint()> clock;
};

// The smallest plan that was found with which the same invariant is broken: fewer kinds of faults,
// then fewer and smaller jobs, pools, machines, agents and servers, a shorter time, and knobs at
// their defaults. Calls `play` on this thread; else it depends on nothing but its arguments.
SimPlan Shrink(const SimPlan& failing, const std::string& id,
               const std::function<SimOutcome(const SimPlan&)>& play, const ShrinkLimits& limits);

// Whether somebody is there to do the jobs, and no two settings are at odds. Of all others a
// failure would say nothing.
bool IsFair(const SimPlan& plan);

// "servers 3 -> 2, items 312 -> 3; faults left: store.unknown".
std::string DescribeShrink(const SimPlan& before, const SimPlan& after);

}  // namespace tidemill
