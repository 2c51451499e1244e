// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/outcome.h"

namespace tidemill {

// One attempt, as it is read by people: a row of a job's results.
struct OutcomeRow {
  Outcome outcome;
  std::string text;   // of the item; empty for items of a bare range
  bool last = false;  // it is its item's last word
  bool operator==(const OutcomeRow&) const = default;
};

// Where a page of a job's attempts begins: behind this one. They are in the order of chunk, item,
// round and attempt.
struct OutcomePlace {
  std::int32_t chunk = 0;
  std::int64_t item = -1;
  std::int32_t round = 0;
  std::int32_t attempt = 0;
  bool operator==(const OutcomePlace&) const = default;
};

struct OutcomePage {
  std::vector<OutcomeRow> rows;
  std::optional<OutcomePlace> next;  // nothing after the last page
};

}  // namespace tidemill
