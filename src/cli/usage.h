// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/job.h"
#include "model/session.h"
#include "wire/stats_json.h"

namespace tidemill::cli {

// What the running items of a job use, over all machines.
struct UseNow {
  std::int64_t running = 0;
  std::int64_t machines = 0;
  std::int64_t millicpus = 0;
  std::int64_t memory_bytes = 0;
  void Add(const ListedMachine& machine, JobId job);
};

// What it asks for and what it took, as a table with advice.
std::string UsageText(const Job& job, const StatsAnswer& stats, const UseNow& now,
                      std::size_t width, bool colours);

// What to ask for instead; empty: it is right as it is, or too little is known.
std::string MemoryAdvice(std::int64_t asked, const StatsAnswer::Values& took);
std::string CpuAdvice(std::int64_t asked_millis, const StatsAnswer::Values& took);

// tidemill usage
int ShowUsage(const Context& context, const std::string& job);

}  // namespace tidemill::cli
