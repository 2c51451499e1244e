// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/session.h"
#include "wire/cost_json.h"

namespace tidemill::cli {

// What machines and statistics say of a job that is watched, beside its counts.
struct WatchDetails {
  std::vector<ItemProgress> progress;  // a few of the items that say how far they are, by number
  // What machines wait for before they can run it, and how many wait for each.
  std::map<std::string, int> waits;
  // Attempts that did not succeed, by the cause's name, the most common first.
  std::vector<std::pair<std::string, std::int64_t>> causes;
  std::optional<JobCost> cost;  // nothing: the server does not say
  bool operator==(const WatchDetails&) const = default;
};

// Adds what they say of this job.
void AddMachines(WatchDetails& details, const std::vector<ListedMachine>& machines, JobId job);

// The causes of attempts, as a summary counts them, without those that succeeded.
std::vector<std::pair<std::string, std::int64_t>> FailuresOf(
    const std::map<std::string, std::int64_t>& counts);
// "exit or signal 12, out of memory 3"
std::string CausesText(const std::vector<std::pair<std::string, std::int64_t>>& causes);
// How people call a cause: "out of memory" for "out-of-memory".
std::string CauseWords(std::string_view name);

// Lines for a terminal, each no wider than `width`.
std::vector<std::string> DetailLines(const WatchDetails& details, std::size_t width, bool colours);

}  // namespace tidemill::cli
