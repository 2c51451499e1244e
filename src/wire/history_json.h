// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tidemill {

// What the ledger of a job tells, for programs.
struct HistoryFacts {
  std::string job = {};  // as it was last written; JSON
  std::int64_t attempts = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t first_ms = 0;
  std::int64_t last_ms = 0;
  std::int64_t cpu_ms = 0;
  std::string failures = {};  // JSON
};
std::string FormatHistory(const HistoryFacts& facts);

}  // namespace tidemill
