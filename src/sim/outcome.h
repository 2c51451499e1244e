// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tidemill {

enum class SimVerdict { kGood, kSafety, kLiveness };

struct SimOutcome {
  SimVerdict verdict = SimVerdict::kGood;
  std::string id;           // of the invariant that was broken first: "S04", "L01"
  std::string what;         // in words
  std::uint64_t trace = 0;  // equal for equal runs
  std::uint64_t steps = 0;
  std::int64_t settlements = 0;  // outcomes that were recorded
  std::int64_t faults = 0;       // that happened
  double machine_hours = 0;      // busy ones
};

}  // namespace tidemill
