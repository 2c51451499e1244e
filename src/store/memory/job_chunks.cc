// SPDX-License-Identifier: Apache-2.0
#include "store/memory/job_chunks.h"

#include "store/stream_rules.h"

namespace tidemill {
namespace {

void Put(JobChunks::Numbers& numbers, std::int32_t number, bool is_in) {
  if (is_in) {
    numbers.insert(number);
  } else {
    numbers.erase(number);
  }
}

}  // namespace

ChunkTally::ChunkTally(const Chunk& chunk) {
  const Bits free_bits = chunk.Free();
  failed = chunk.failed.Count();
  succeeded = (chunk.done - chunk.failed).Count();
  leased = chunk.leased.Count();
  parked = chunk.parked.Count();
  free = free_bits.Count();
  waiting = (free_bits | chunk.resting).Count();
  if (chunk.suspect.None()) return;
  free_worn = (free_bits & chunk.suspect).Count();
  leased_worn = (chunk.leased & chunk.suspect).Count();
}

std::int32_t ChunkTally::In(ItemState state) const {
  switch (state) {
    case ItemState::kWaiting:
      return waiting;
    case ItemState::kRunning:
      return leased;
    case ItemState::kSucceeded:
      return succeeded;
    case ItemState::kFailed:
      return failed;
    case ItemState::kCancelled:
      return parked;
  }
  return 0;
}

const JobChunks::Numbers& JobChunks::FreeFor(WornItems worn) const {
  switch (worn) {
    case WornItems::kOnly:
      return free_worn_;
    case WornItems::kNot:
      return free_sound_;
    case WornItems::kAlso:
      break;
  }
  return free_;
}

void JobChunks::Count(const ChunkTally& tally, int sign) {
  counts_.succeeded += sign * tally.succeeded;
  counts_.failed += sign * tally.failed;
  counts_.running += sign * tally.leased;
  counts_.waiting += sign * tally.waiting;
  counts_.cancelled += sign * tally.parked;
  leased_worn_ += sign * tally.leased_worn;
}

void JobChunks::List(std::int32_t number, const ChunkTally& tally) {
  Put(free_, number, tally.free > 0);
  Put(free_worn_, number, tally.free_worn > 0);
  Put(free_sound_, number, tally.free > tally.free_worn);
  Put(waiting_, number, tally.waiting > 0);
}

const Chunk* JobChunks::FindItem(std::int64_t item) const {
  for (auto entry = chunks_.lower_bound(FirstChunkFor(item)); entry != chunks_.end(); ++entry) {
    const Chunk& chunk = entry->second.stored.chunk;
    if (chunk.first_item > item) return nullptr;
    if (item < chunk.first_item + chunk.length()) return &chunk;
  }
  return nullptr;
}

std::int64_t JobChunks::FreeInFirst(int chunks) const {
  std::int64_t items = 0;
  auto entry = chunks_.end();
  for (const std::int32_t number : free_) {
    if (chunks-- == 0) break;
    // Mostly they stand side by side, and nothing is searched for.
    if (entry == chunks_.end() || entry->first != number) entry = chunks_.find(number);
    items += entry->second.tally.free;
    ++entry;
  }
  return items;
}

void JobChunks::Add(const Chunk& chunk) {
  const std::int32_t number = chunk.key.chunk;
  const ChunkTally tally(chunk);
  chunks_.emplace(number, Entry{{chunk, false}, tally});
  counts_.total += chunk.length();
  Count(tally, 1);
  List(number, tally);
}

void JobChunks::Change(std::int32_t number, const std::function<void(StoredChunk&)>& change) {
  auto& [stored, tally] = chunks_.at(number);
  Count(tally, -1);
  change(stored);
  tally = ChunkTally(stored.chunk);
  Count(tally, 1);
  List(number, tally);
}

void JobChunks::Pack(std::int32_t number) {
  const ChunkTally& tally = TallyOf(number);
  packed_.items += tally.succeeded + tally.failed;
  packed_.failed += tally.failed;
  chunks_.erase(number);
}

}  // namespace tidemill
