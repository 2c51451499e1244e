// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/pool.h"
#include "model/queue.h"
#include "wire/changes_json.h"
#include "wire/settings_json.h"

// What applying a file would change. Pure.
namespace tidemill::cli {

// What there is, by name.
struct SettingsNow {
  std::vector<PoolSettings> pools;
  std::vector<Queue> queues;
};

// One call, or two for a pool that is new or has another policy.
struct Step {
  SettingsChange change;
  std::optional<ContainerPolicy> policy = {};  // to put; a pool that is new has one
  std::optional<PoolMachines> machines = {};   // to set
  std::optional<Queue> queue = {};             // to put
};

// In the order in which the steps can be taken: pools before queues that name them, and what goes
// after all that might still name it. What the file does not name stays unless `prune`; the default
// pool always stays.
std::vector<Step> StepsTo(const SettingsFile& file, const SettingsNow& now, bool prune);

// Nothing, or why no step should be taken: a queue names a pool that will not be there.
std::optional<std::string> WhyNot(const SettingsFile& file, const SettingsNow& now, bool prune);

// "+ pool spot", "~ queue night" and their fields; then how many of each. Empty for no steps.
std::string StepsText(const std::vector<Step>& steps, std::size_t width, bool colours);

// As people read them, for tables too. "-" for nothing.
std::string ShapeText(const Resources& shape);
std::string LimitsText(const QueueLimits& limits);
std::string NamesText(const std::vector<std::string>& names);

}  // namespace tidemill::cli
