// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bits.h"
#include "model/outcome.h"
#include "report/summary.h"

namespace tidemill {

// One report of a chunk, as it is stored. The offsets are of the chunk.
struct ReportToRoll {
  std::string_view body;    // a column block, written by an agent
  Bits settled;             // the attempts that it recorded: of other rows nothing is believed
  Bits ended;               // those of them that are their item's last word
  bool lost_limit = false;  // the reaper's: these items were lost too often; there is no body
  std::int32_t round = 0;   // of the lease that it belongs to
};

// What reports of a chunk say, as far as it can be believed.
struct BelievedRows {
  struct Row {
    Outcome outcome;
    bool ended = false;  // it is its item's last word
  };
  std::vector<Row> rows;        // by item, then round, then attempt
  std::int64_t unreadable = 0;  // settled attempts without a row

  Summary AddUp() const;
};

// Reports of a chunk, of one round or several. No row is invented: a settled attempt whose row is
// missing, or that only the server could have written, is counted as unreadable.
BelievedRows ReadReports(std::int64_t first_item, const std::vector<ReportToRoll>& reports);

struct RolledReports {
  std::string block;    // all rows, by item, then round, then attempt
  std::string summary;  // what they add up to, and how many are missing
};

// Makes one block and one summary of what can be believed of reports. Of more rows than fit in a
// block, the newest row of each item is kept first, then the one before it, and so on; the rest is
// in the summary only. Results are kept in the newest rows alone.
RolledReports RollUp(std::int64_t first_item, const std::vector<ReportToRoll>& reports);

}  // namespace tidemill
