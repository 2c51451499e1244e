// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/autoscale.h"
#include "plan/index.h"
#include "plan/schedule.h"
#include "plan/why.h"

namespace tidemill {

// What is decided of one project, with what it is decided from. The leader acts by
// it, and people are answered from it.
struct Decided {
  Decided(Snapshot from, TimePoint at);
  Decided(const Decided&) = delete;
  Decided& operator=(const Decided&) = delete;
  WhyContext context() const { return {index, plan, wanted, now}; }

  const Snapshot snapshot;
  const SnapshotIndex index;
  const Plan plan;
  const Wanted wanted;
  const TimePoint now;
};

}  // namespace tidemill
