// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plan/claims.h"

namespace tidemill {

// While nothing is known of how long a job's items take, machines are ordered for it as if it were
// this small. Three machines that find the same fault are what a job is paused for; a mistake costs
// no more than they do.
inline constexpr std::int64_t kCanaryMachines = 3;
// And for all such jobs of a queue together: a thousand small ones are no reason for three
// thousand.
inline constexpr std::int64_t kCanaryTogether = 30;
// Without a deadline, as many machines as have work for so long: a machine that takes one or two
// minutes to boot then works for most of what it costs.
inline constexpr Duration kTurnaround = std::chrono::minutes(10);
// With a deadline: machines boot, some are lost, and the last items end late.
inline constexpr Duration kDeadlineBoot = std::chrono::minutes(2);
inline constexpr std::int64_t kDeadlinePercent = 80;
// A job that is late is spread over no more machines than have work for this long, or for the time
// that its first pool bills at least.
inline constexpr Duration kLeastWork = std::chrono::seconds(1);

// What a claim is worth in machines.
struct Demand {
  std::size_t claim = 0;
  std::int64_t slots = 0;
  bool canary = false;  // for want of measured times
};

// items left x mean time / the time there is, and no more than its budget still buys. Limits are
// not looked at. In the order in which claims are served.
std::vector<Demand> DemandsOf(const SnapshotIndex& index, const std::vector<Claim>& claims,
                              TimePoint now);

// Items of a claim that are not done.
std::int64_t ItemsLeft(const Claim& claim);

}  // namespace tidemill
