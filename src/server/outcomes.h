// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/outcome.h"
#include "report/roll_up.h"
#include "store/rows.h"

namespace tidemill {

// Reports as they are rolled up. Borrows their bodies.
std::vector<ReportToRoll> ToRoll(const std::vector<Report>& reports);

// All attempts at the items of a chunk that are known, by item, then round, then attempt; which of
// them are their item's last word.
std::vector<BelievedRows::Row> RowsOf(const ChunkHistory& history);

// What is known of the attempts at the items of a chunk: from reports only what they settled, and
// what was rolled up before. A block that cannot be read says nothing.
class ChunkOutcomes {
 public:
  struct Known {
    std::int64_t attempts = 0;
    Outcome newest;  // of the highest round, and in it of the highest attempt
  };

  explicit ChunkOutcomes(const ChunkHistory& history);
  // Null if no attempt at this item is known.
  const Known* Find(std::int64_t item) const;

 private:
  void Add(Outcome&& row);

  std::unordered_map<std::int64_t, Known> known_;
};

}  // namespace tidemill
