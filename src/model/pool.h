// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "model/access.h"
#include "model/job.h"
#include "model/labels.h"
#include "model/price.h"

namespace tidemill {

// From so many items on -> so many machines.
using Steps = std::map<std::int64_t, std::int64_t>;

enum class SizeUnit : std::int16_t { kMachines = 0, kVcpus = 1 };

// The minimum that most clouds bill for a machine.
inline constexpr Duration kDefaultBilledAtLeast = std::chrono::minutes(1);

std::string_view SizeUnitName(SizeUnit unit);
std::optional<SizeUnit> ParseSizeUnit(std::string_view name);

// What the machines of a pool are, how many there may be, and where they come from.
struct PoolMachines {
  std::string provider;  // empty: its machines come and go by themselves; none is ordered or ended
  // What the agent of such a machine has to give. As its machines say, once one has joined: what is
  // sold as 32 GiB is less.
  Resources shape = {.millicpus = 0};
  bool spot = false;
  Money price;      // of a machine an hour, now
  Money on_demand;  // the same, if it were not spot
  std::int64_t min = 0;
  std::int64_t max = 0;
  SizeUnit unit = SizeUnit::kMachines;      // of min and max
  std::optional<std::int32_t> max_price;    // percent of on_demand; above it nothing is ordered
  Duration idle = std::chrono::minutes(5);  // a machine without work for so long is drained
  Duration boot_limit = std::chrono::minutes(10);  // for each of `ordered` and `booting`
  // Its provider bills a machine for at least this long, so an idle one is not drained before.
  Duration billed_at_least = kDefaultBilledAtLeast;
  Labels labels;  // a job that asks for some runs only where all of them are
  Steps steps;    // of items that wait or run in its queues; empty: by the work that is left
  bool disabled = false;
  std::string options;  // what only its provider understands, as JSON; empty: nothing
  bool operator==(const PoolMachines&) const = default;
};

// A pool as a whole: what it demands of containers, and what its machines are.
struct PoolSettings {
  Pool pool;
  PoolMachines machines;
  bool operator==(const PoolSettings&) const = default;
};

// "1:1 101:2", as stores keep them. What is not of this form is read as far as it is.
std::string FormatSteps(const Steps& steps);
Steps ParseSteps(std::string_view text);

}  // namespace tidemill
