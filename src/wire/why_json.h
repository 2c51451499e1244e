// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Why nothing, or not more, of a job runs, or why a machine does not work. In answers fields that
// are not known are passed over.
namespace tidemill {

struct WhyReason {
  std::string code;  // for programs: "no_capacity"
  std::string pool;  // or empty: it is not about one pool
  std::string sentence;
  std::map<std::string, std::int64_t> numbers;
  bool operator==(const WhyReason&) const = default;
};

// GET /v1/jobs/{job}/why
struct JobWhy {
  std::string job;
  std::int64_t running = 0;
  std::int64_t could_run = 0;  // with as many machines as it likes
  std::vector<WhyReason> reasons;
  bool operator==(const JobWhy&) const = default;
};
std::string FormatJobWhy(const JobWhy& why);
Result<JobWhy> ParseJobWhy(std::string_view body);

// GET /v1/machines/{machine}/why
struct MachineWhy {
  std::string machine;
  std::string pool;
  std::string state;
  std::int64_t running = 0;
  std::vector<WhyReason> reasons;
  bool operator==(const MachineWhy&) const = default;
};
std::string FormatMachineWhy(const MachineWhy& why);
Result<MachineWhy> ParseMachineWhy(std::string_view body);

}  // namespace tidemill
