// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

Result<std::vector<LedgerJob>> MemoryStore::ListLedgerJobs(JobId after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<LedgerJob> due;
  for (auto it = jobs_.upper_bound(after); it != jobs_.end(); ++it) {
    const JobId id = it->first;
    const Job& job = it->second.job;
    const LedgerMarks& marks = ledger_[id];
    const bool told = marks.state == static_cast<int>(job.state) && marks.round == job.round;
    if (job.state == JobState::kDraft) continue;
    if (marks.chunks >= job.chunks && told) continue;
    if (static_cast<int>(due.size()) == limit) break;
    const auto next = to_roll_up_.lower_bound({id, 0});
    const bool rolled = next == to_roll_up_.end() || next->job != id;
    const bool settled = rolled && stats_.IsInLedger(id);
    due.push_back({job, marks.chunks, marks.state >= 0, settled});
  }
  return due;
}

Result<void> MemoryStore::MarkLedgerItems(JobId id, std::int32_t chunks) {
  const std::lock_guard lock(mutex_);
  LedgerMarks& marks = ledger_[id];
  marks.chunks = std::max(marks.chunks, chunks);
  return {};
}

Result<void> MemoryStore::MarkLedgerState(JobId id, JobState state, std::int32_t round) {
  const std::lock_guard lock(mutex_);
  LedgerMarks& marks = ledger_[id];
  marks.state = static_cast<int>(state);
  marks.round = round;
  return {};
}

Result<std::vector<ChunkStat>> MemoryStore::ListLedgerStats(int limit) {
  const std::lock_guard lock(mutex_);
  return stats_.NotInLedger(limit);
}

Result<void> MemoryStore::MarkLedgerStat(const ChunkStat& stat) {
  const std::lock_guard lock(mutex_);
  stats_.MarkInLedger(stat);
  return {};
}

}  // namespace tidemill
