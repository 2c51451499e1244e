// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "plan/autoscale.h"
#include "plan/index.h"
#include "plan/schedule.h"

namespace tidemill {

struct Forecast {
  std::int64_t slots = 0;  // that it reckons with
  Duration time{};         // until the last item is done
  Duration least{};
  Duration most{};
  Money cost;  // by the end, with what is spent
  Money cost_least;
  Money cost_most;
  bool operator==(const Forecast&) const = default;
};

// How long a job will take and what it will have cost, if all goes on as planned: with the slots of
// the plan, and with those that fit on machines that are on their way.
//
// The range is of two standard deviations, of what is not known of the mean and of the sum of the
// items together; the most also has a late last item. It does not foresee interruptions, prices, or
// other jobs. Nothing: no item has been measured, none is left, or there is no slot.
std::optional<Forecast> ForecastOf(const SnapshotIndex& index, const Plan& plan,
                                   const Wanted& wanted, std::size_t job);

}  // namespace tidemill
