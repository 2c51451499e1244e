// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/summary.h"

// GET /v1/jobs/{job}/stats
namespace tidemill {

// `partial`: attempts of chunks that are under way are missing.
std::string FormatStats(const Summary& summary, bool partial);

// What is left of a summary for those who read it.
struct StatsAnswer {
  struct Values {
    struct Bucket {
      std::int64_t least = 0;
      std::int64_t greatest = 0;
      std::int64_t count = 0;
    };
    std::int64_t count = 0;  // if there are none, the next five say nothing
    std::int64_t p50 = 0;
    std::int64_t p90 = 0;
    std::int64_t p95 = 0;
    std::int64_t p99 = 0;
    std::int64_t max = 0;
    std::vector<Bucket> buckets;  // those that are not empty, ascending
  };
  std::map<std::string, std::int64_t> attempts;  // by cause, and their total
  std::map<std::string, std::int64_t> outcomes;
  Values duration_ms;
  Values memory_bytes;
  Values cpu_millis;  // thousandths of a processor
  std::vector<TopItems::Entry> slowest;
  std::vector<TopItems::Entry> largest;
  std::int64_t unreadable = 0;
  std::int64_t dropped = 0;
  bool partial = false;
};
Result<StatsAnswer> ParseStats(std::string_view body);

}  // namespace tidemill
