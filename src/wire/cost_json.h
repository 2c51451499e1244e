// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/price.h"

// Money and machines, as answers to people. Dollars are numbers with at most six decimals, exact.
// In answers fields that are not known are passed over.
namespace tidemill {

// How many machines are in each state.
struct MachineCounts {
  std::int64_t ordered = 0;
  std::int64_t booting = 0;
  std::int64_t joined = 0;
  std::int64_t draining = 0;
  bool operator==(const MachineCounts&) const = default;
};

struct JobForecast {
  std::int64_t slots = 0;
  Duration time{};  // until the last item is done
  Duration least{};
  Duration most{};
  Money cost;  // by the end, with what is spent
  Money cost_least;
  Money cost_most;
  bool operator==(const JobForecast&) const = default;
};

// GET /v1/jobs/{job}/cost
struct JobCost {
  std::string job;
  Money spent;  // with what was lost
  Money lost;   // on attempts of which nothing came
  Duration machine_time{};
  Duration lost_time{};
  std::int64_t items_done = 0;
  std::optional<Money> cost_an_item;  // nothing: none is done
  std::optional<Money> budget;
  std::optional<std::int64_t> deadline_ms;  // since 1970
  std::optional<JobForecast> forecast;
  MachineCounts machines;    // of the pools of its queue
  std::int64_t working = 0;  // machines that have something of it
  bool operator==(const JobCost&) const = default;
};
std::string FormatJobCost(const JobCost& cost);
Result<JobCost> ParseJobCost(std::string_view body);

// GET /v1/costs
struct ProjectCosts {
  struct OfJob {
    std::string job;
    Money spent;
    Money lost;
    Duration machine_time{};
    bool operator==(const OfJob&) const = default;
  };
  Money spent;  // on jobs, with what was lost
  Money lost;
  Money idle;
  Money boot;
  Duration idle_time{};
  Duration boot_time{};
  std::vector<OfJob> jobs;  // those that cost most, the dearest first
  bool operator==(const ProjectCosts&) const = default;
};
std::string FormatCosts(const ProjectCosts& costs);

// What is going on in a pool, as lists of pools have it.
struct PoolNow {
  MachineCounts machines;
  std::int64_t needed = 0;  // machines that have something to do
  std::int64_t limit = 0;   // machines that it may have
  std::string hold;         // why it gets no more, for programs: "no_capacity"; empty: nothing does
  std::string words;        // its provider's own, when it last refused
  std::int64_t tried = 0;   // times in a row that there was no capacity
  std::optional<std::int64_t> again_ms;  // when the provider is asked again, since 1970
  std::int64_t never_joined = 0;         // machines in a row
  bool operator==(const PoolNow&) const = default;
};
std::string FormatPoolNow(const PoolNow& now);
// Of an answer of pools, by name; those of which nothing is said are left out.
Result<std::map<std::string, PoolNow>> ParsePoolsNow(std::string_view body);

}  // namespace tidemill
