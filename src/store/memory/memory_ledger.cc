// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

Result<std::vector<LedgerJob>> MemoryStore::ListLedgerJobs(JobId after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<LedgerJob> due;
  for (const auto& [id, row] : jobs_) {
    const Job& job = row.job;
    const LedgerMarks& marks = ledger_[id];
    const bool told = marks.state == static_cast<int>(job.state) && marks.round == job.round;
    if (id <= after || job.state == JobState::kDraft) continue;
    if (marks.chunks >= job.chunks && told) continue;
    if (static_cast<int>(due.size()) == limit) break;
    bool settled = true;
    for (const StoredChunk& stored : row.chunks) {
      if (IsOver(stored.chunk) && !stored.rolled) settled = false;
    }
    for (const auto& [key, stat] : stats_) {
      if (stat.chunk.job == id && !ledgered_.contains(key)) settled = false;
    }
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
  std::vector<ChunkStat> due;
  for (const auto& [key, stat] : stats_) {
    if (static_cast<int>(due.size()) == limit) break;
    if (!ledgered_.contains(key)) due.push_back(stat);
  }
  return due;
}

Result<void> MemoryStore::MarkLedgerStat(const ChunkStat& stat) {
  const std::lock_guard lock(mutex_);
  const auto found = stats_.find({stat.chunk, stat.round});
  if (found != stats_.end() && found->second.ended == stat.ended) ledgered_.insert(found->first);
  return {};
}

}  // namespace tidemill
