// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "model/job.h"
#include "model/outcome_page.h"
#include "net/asio_loop.h"
#include "objects/open.h"
#include "report/failure_groups.h"

// A job whose server and database are gone, as its ledger tells it.
namespace tidemill::cli {

struct HistoryFlags {
  std::string url;  // of the job's folder, or of the ledger in it
  std::string out;  // its results go here, too; empty: nowhere
};
// tidemill history open
int OpenHistory(AsioLoop& loop, ObjectStores& objects, const Console& console,
                const Surroundings& around, const HistoryFlags& flags);

// What the rows of a ledger add up to. One pass, in bounded memory.
struct HistorySums {
  void Add(const OutcomeRow& row);

  std::int64_t attempts = 0;
  std::int64_t succeeded = 0;  // items
  std::int64_t failed = 0;
  std::int64_t first_ms = 0;  // when the first attempt began, by its machine's clock; 0: none did
  std::int64_t last_ms = 0;   // when the last one ended
  std::int64_t cpu_ms = 0;
  FailureGroups failures;
};

// Calls `on_row` for each line of a file of outcomes, unpacked.
Result<void> ReadRows(std::string_view lines,
                      const std::function<Result<void>(OutcomeRow&&)>& on_row);

// The facts for programs: the job as it was last written, and what its rows add up to.
std::string HistoryJson(const std::string& job_json, const HistorySums& sums);

}  // namespace tidemill::cli
