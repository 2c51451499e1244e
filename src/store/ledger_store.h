// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "store/rows.h"

namespace tidemill {

// A job of which something is not in its ledger yet.
struct LedgerJob {
  Job job;
  std::int32_t chunks_written = 0;  // the items of chunks before this one are
  bool begun = false;               // its state was written once
  bool settled = false;  // all its chunks that are over are rolled up, and their blocks written
  bool operator==(const LedgerJob&) const = default;
};

// What of the jobs' records has been written to the object store, so that a crash loses nothing of
// it for ever: what is not marked is written again. As Store: each call is one transaction, may be
// repeated, and may come from any thread.
class LedgerStore {
 public:
  virtual ~LedgerStore() = default;
  // Jobs after this one, but drafts, with chunks whose items, or a state and round that, are not
  // written; by id.
  virtual Result<std::vector<LedgerJob>> ListLedgerJobs(JobId after, int limit) = 0;
  // The items of so many chunks are written; less than before changes nothing.
  virtual Result<void> MarkLedgerItems(JobId id, std::int32_t chunks) = 0;
  // This state and round are.
  virtual Result<void> MarkLedgerState(JobId id, JobState state, std::int32_t round) = 0;
  // Blocks of chunks that are rolled up and not written, or changed since by a reopening.
  virtual Result<std::vector<ChunkStat>> ListLedgerStats(int limit) = 0;
  // This one is, if it is still as it was.
  virtual Result<void> MarkLedgerStat(const ChunkStat& stat) = 0;
};

}  // namespace tidemill
