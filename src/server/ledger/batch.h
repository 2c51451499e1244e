// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/ledger_store.h"
#include "store/store.h"

namespace tidemill {

struct LedgerFile {
  std::string url;
  std::string bytes;
};

// Files that belong together: once all are in the object store, `mark` says so in the database.
struct LedgerTask {
  std::vector<LedgerFile> files;
  std::function<Result<void>(LedgerStore&)> mark;
};

struct LedgerBatch {
  std::vector<LedgerTask> tasks;
  JobId last_job;  // the next batch looks at the jobs after this one
};

// What is to be written next: the blocks of some chunks, and what some jobs after `after` need. The
// same state gives the same bytes. `objects` is the URL of the deployment's own object store.
Result<LedgerBatch> MakeLedgerBatch(Store& store, LedgerStore& ledger, const std::string& objects,
                                    JobId after);

}  // namespace tidemill
