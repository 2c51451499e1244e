// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"

namespace tidemill {

// So many spot machines are taken away at once.
struct SpotLoss {
  Duration at{};  // after the job was submitted
  std::int64_t machines = 0;
  std::string pool;  // empty: of all pools with spot machines together
  bool operator==(const SpotLoss&) const = default;
};

// A table with the header "seconds,machines" or "seconds,machines,pool", and a loss a line, in the
// order of time. kInvalid, with the line, for anything else.
Result<std::vector<SpotLoss>> ParseSpotTrace(std::string_view text);

// "5%/h" -> 0.05: the part of the spot machines that is taken away in an hour. kInvalid for
// anything else.
Result<double> ParseInterruptions(std::string_view text);

}  // namespace tidemill
