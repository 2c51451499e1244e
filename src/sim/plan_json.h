// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/plan.h"

namespace tidemill {

// Larger files than this are no plans.
inline constexpr std::size_t kPlanBytes = 1 << 20;

// A plan as JSON, all of it: names as in C++, durations in microseconds (`chaos_us`), money in
// millionths (`budget_micros`).
std::string FormatPlan(const SimPlan& plan);

// Reads it back, the same. What is absent has its default. kInvalid, with the field's place: not
// JSON, a field that no plan has, a value of another kind, or one that no run could be made of.
Result<SimPlan> ParsePlan(std::string_view text);

}  // namespace tidemill
