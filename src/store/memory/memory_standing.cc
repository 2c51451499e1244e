// SPDX-License-Identifier: Apache-2.0
// Jobs whose items arrive while they run.
#include <algorithm>
#include <set>
#include <tuple>

#include "store/memory/memory_store.h"
#include "store/rules.h"
#include "store/standing_rules.h"

namespace tidemill {

std::int32_t MemoryStore::Today() const { return DaysOf(Duration(clock_us_())); }

Result<Added> MemoryStore::AddItems(JobId id, const NewItems& items) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  if (const auto found = row->calls.find(items.key); found != row->calls.end()) {
    CallRow& call = found->second;
    if (call.digest != items.digest) return OtherCallConflict(row->job);
    call.day = Today();
    return Added{.job = row->job, .first = call.first, .added = call.added, .known = 0};
  }
  std::set<std::string> known;
  for (const std::string& mark : items.once) {
    if (row->once.contains(mark)) known.insert(mark);
  }
  const NewOnes ones = ChooseNew(items, known);
  TIDEMILL_TRY(const std::vector<NewChunkItems> chunks, CutNew(items, ones));
  Added added;
  added.added = ItemsIn(chunks);
  added.known = ones.known;
  if (added.added > 0) {
    TIDEMILL_TRY_VOID(MayAddItems(row->job, added.added, row->chunks.packed().items));
    TIDEMILL_TRY_VOID(MayGrow(row->job, added.added));
    added.first = row->job.items;
    Append(*row, chunks);
    ++change_;
  }
  for (const std::string& mark : known) row->once[mark] = Today();
  for (const std::string_view mark : ones.marks) row->once[std::string(mark)] = Today();
  if (!items.key.empty()) {
    row->calls[items.key] = {items.digest, added.first, added.added, Today()};
  }
  added.job = row->job;
  return added;
}

Result<std::int64_t> MemoryStore::ForgetMarks(Duration age, int limit) {
  const std::lock_guard lock(mutex_);
  const std::int32_t before = Today() - DaysOf(age);
  // Those that were said longest ago first.
  std::multimap<std::int32_t, std::pair<JobId, std::string>> old_items, old_calls;
  for (const auto& [id, row] : jobs_) {
    for (const auto& [mark, day] : row.once) {
      if (day < before) old_items.emplace(day, std::pair(id, mark));
    }
    for (const auto& [mark, call] : row.calls) {
      if (call.day < before) old_calls.emplace(call.day, std::pair(id, mark));
    }
  }
  std::int64_t forgotten = 0;
  int left = limit;
  for (const auto& [day, which] : old_items) {
    if (left-- <= 0) break;
    jobs_.at(which.first).once.erase(which.second);
    ++forgotten;
  }
  left = limit;
  for (const auto& [day, which] : old_calls) {
    if (left-- <= 0) break;
    jobs_.at(which.first).calls.erase(which.second);
    ++forgotten;
  }
  left = limit;
  for (auto& [id, row] : jobs_) {
    const bool running = row.job.state == JobState::kActive || row.job.state == JobState::kPaused;
    if (!running || !row.job.open) continue;
    for (auto it = row.parts.begin(); it != row.parts.end() && left > 0;) {
      if (it->second.day >= before) {
        ++it;
        continue;
      }
      it = row.parts.erase(it);
      --left;
      ++forgotten;
    }
  }
  return forgotten;
}

bool MemoryStore::IsOld(const OverMark& mark, const PackAges& ages) const {
  return mark.at_us <= clock_us_() - (mark.failed ? ages.failed : ages.done).count();
}

Result<std::vector<JobId>> MemoryStore::ListPackable(const PackAges& ages, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [id, row] : under_way_) {
    const bool running = row->job.state == JobState::kActive || row->job.state == JobState::kPaused;
    const bool old = std::any_of(row->over.begin(), row->over.end(),
                                 [&](const auto& entry) { return IsOld(entry.second, ages); });
    if (!running || !row->job.open || !old) continue;
    if (static_cast<int>(ids.size()) == limit) break;
    ids.push_back(id);
  }
  return ids;
}

Result<PackedAway> MemoryStore::PackChunks(JobId id, const PackAges& ages, int limit) {
  const std::lock_guard lock(mutex_);
  PackedAway away;
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return away;
  JobRow& row = *found->second;
  const bool running = row.job.state == JobState::kActive || row.job.state == JobState::kPaused;
  if (!running || !row.job.open) return away;
  // Those that have only succeeded first, and of them those that ended first.
  std::set<std::tuple<bool, std::int64_t, std::int32_t>> old;
  for (const auto& [number, mark] : row.over) {
    const ChunkKey key{id, number};
    const bool written = number < ledger_[id].chunks && stats_.IsInLedger(key);
    if (!written || !ChunkOf(key).AllDone() || !IsOld(mark, ages)) continue;
    old.insert({mark.failed, mark.at_us, number});
  }
  const PackedItems before = row.chunks.packed();
  for (const auto& [failed, at_us, number] : old) {
    if (away.chunks == limit) break;
    const Chunk& chunk = row.chunks.at(number).chunk;
    for (int offset = 0; offset < chunk.length(); ++offset) tries_.Drop(chunk, offset);
    stats_.Drop(chunk.key);
    touched_.Drop(chunk.key);
    row.bodies.erase(number);
    row.over.erase(number);
    row.chunks.Pack(number);
    ++away.chunks;
  }
  away.items = {row.chunks.packed().items - before.items,
                row.chunks.packed().failed - before.failed};
  return away;
}

Result<PackedItems> MemoryStore::FindPacked(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  return row->chunks.packed();
}

}  // namespace tidemill
