// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidemill {

// What a check of the whole store has found.
struct CheckReport {
  std::int64_t jobs = 0;
  std::int64_t items = 0;
  std::vector<std::string> breaches;  // a sentence each, which begins with the invariant's id
};

// {"conserved":true,"jobs":3,"items":5000,"breaches":[]}
std::string FormatCheck(const CheckReport& report);

}  // namespace tidemill
