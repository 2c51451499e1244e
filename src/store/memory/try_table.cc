// SPDX-License-Identifier: Apache-2.0
#include "store/memory/try_table.h"

namespace tidemill {

const TryRow* TryTable::Find(JobId job, std::int64_t item) const {
  const auto found = rows_.find({job, item});
  return found == rows_.end() ? nullptr : &found->second;
}

const TryTable::Rests& TryTable::RestsOf(JobId job) const {
  static const Rests kNone;
  const auto found = rests_.find(job);
  return found == rests_.end() ? kNone : found->second;
}

std::vector<Rest> TryTable::RestsIn(const Chunk& chunk) const {
  std::vector<Rest> rests;
  const JobId job = chunk.key.job;
  const auto end = rows_.lower_bound({job, chunk.first_item + chunk.length()});
  for (auto it = rows_.lower_bound({job, chunk.first_item}); it != end; ++it) {
    const TryRow& row = it->second;
    if (row.due_us) rests.push_back({it->first.second, row.chunk, *row.due_us});
  }
  return rests;
}

void TryTable::Forget(JobId job, const TryRow& row) {
  if (!row.due_us) return;
  const auto found = rests_.find(job);
  found->second.erase({*row.due_us, row.counts.item});
  if (found->second.empty()) rests_.erase(found);
}

void TryTable::SetDue(const Chunk& chunk, int offset, std::int64_t due_us) {
  TryRow& row = Of(chunk, offset);
  Forget(chunk.key.job, row);
  row.due_us = due_us;
  rests_[chunk.key.job].insert({due_us, row.counts.item});
  touched_.Add(chunk.key);
}

void TryTable::SetNotDue(const Chunk& chunk, int offset) {
  TryRow& row = Of(chunk, offset);
  Forget(chunk.key.job, row);
  row.due_us.reset();
  touched_.Add(chunk.key);
}

void TryTable::Drop(const Chunk& chunk, int offset) {
  const auto found = rows_.find({chunk.key.job, chunk.first_item + offset});
  if (found == rows_.end()) return;
  Forget(chunk.key.job, found->second);
  rows_.erase(found);
  touched_.Add(chunk.key);
}

}  // namespace tidemill
