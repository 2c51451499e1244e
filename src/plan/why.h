// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/autoscale.h"
#include "plan/index.h"
#include "plan/schedule.h"

namespace tidemill {

// Why nothing, or not more, of a job runs; or why a machine does not work, or not more.
enum class WhyCode : std::uint8_t {
  // Of a job: it may not run at all.
  kPaused,
  kAfter,
  kNoQueue,
  kQueueDisabled,
  kBackOff,
  kNothingLeft,
  // Of a job: it may not run in a pool.
  kNoPools,
  kPoolMissing,
  kPoolDisabled,
  kLabels,
  kDevices,
  kTooLarge,
  // Of a job: a limit is reached.
  kBudget,
  kMaxParallel,
  kRunningLimit,
  kMachinesLimit,
  kCostLimit,
  // Of a job: machines are missing.
  kNoCapacity,
  kPriceCap,
  kProtected,
  kQuota,
  kPoolMax,
  kSteps,
  kNoMachines,
  kWaitsForMachines,
  kCanary,
  // Of a job: it has machines.
  kImagePull,
  kReserved,
  kShare,
  kFull,
  kStarting,
  // Of a machine.
  kMachineOrdered,
  kMachineBooting,
  kMachineDraining,
  kMachineGone,
  kMachineDisabled,
  kMachineReserved,
  kMachineFull,
  kMachineIdle,
  kMachineStarting,
};

inline constexpr int kWhyCodes = static_cast<int>(WhyCode::kMachineStarting) + 1;

// "no_capacity": for programs, never changed.
std::string_view WhyName(WhyCode code);

struct Reason {
  WhyCode code = WhyCode::kStarting;
  std::string pool;      // or empty: it is not about one pool
  std::string sentence;  // one line for people: what is so, and what to do
  // For programs; the unit is the last word of a name, if it has one: "asked_bytes".
  std::map<std::string, std::int64_t> numbers;
  bool operator==(const Reason&) const = default;
};

// What the last decisions were: `plan` and `wanted` are made of the snapshot of `index`, at `now`.
struct WhyContext {
  const SnapshotIndex& index;
  const Plan& plan;
  const Wanted& wanted;
  TimePoint now;
};

// The reasons, the most telling first; never none. What keeps all of a job from running stands
// alone. By the same rules by which it was decided (plan/claims.h, plan/caps.h), so it cannot say
// something else.
std::vector<Reason> WhyJob(const WhyContext& context, std::size_t job);
std::vector<Reason> WhyMachine(const WhyContext& context, std::size_t machine);

}  // namespace tidemill
