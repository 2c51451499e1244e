// SPDX-License-Identifier: Apache-2.0
#include "store/retries.h"

#include <algorithm>
#include <limits>

#include "model/retry.h"

namespace tidemill {
namespace {

bool Fits(const DueItem& item, const Ask& ask, SessionId session) {
  if (ask.room_bytes != 0 && item.memory_bytes > ask.room_bytes) return false;
  if (ask.worn == (item.suspect ? WornItems::kNot : WornItems::kOnly)) return false;
  return item.blamed != session || item.overdue >= kPreferOthers;
}

}  // namespace

TryRow& TryIn(TryRows& rows, const Chunk& chunk, int offset) {
  const std::int64_t item = chunk.first_item + offset;
  TryRow& row = rows[{chunk.key.job, item}];
  row.counts.job = chunk.key.job;
  row.counts.item = item;
  row.chunk = chunk.key.chunk;
  return row;
}

RetryRules RulesOf(const JobSpec& spec) {
  return {spec.retries, spec.retry_wait, spec.resources.memory_bytes, spec.memory_max};
}

std::optional<Duration> CountFailure(TryRow& row, const RetryRules& rules, const Lease& lease,
                                     bool final) {
  row.blamed = lease.session;
  ++row.counts.attempts;
  if (final || row.counts.attempts > rules.retries) return std::nullopt;
  return RetryWait(rules.wait, row.counts.attempts, row.counts.item);
}

std::optional<Duration> CountOutOfMemory(TryRow& row, const RetryRules& rules, const Lease& lease) {
  const std::int64_t had = lease.memory_bytes != 0 ? lease.memory_bytes : rules.memory_bytes;
  ++row.counts.steps;
  row.counts.memory_bytes = NextMemory(had, rules.memory_max);
  if (row.counts.memory_bytes <= had) return std::nullopt;
  return Duration::zero();
}

SessionId BlamedBy(const TryRow& row, const Lease& lease) {
  return row.blamed == lease.session ? SessionId{} : row.blamed;
}

Bits FreeFor(const Chunk& chunk, WornItems worn) {
  switch (worn) {
    case WornItems::kOnly:
      return chunk.Free() & chunk.suspect;
    case WornItems::kNot:
      return chunk.Free() - chunk.suspect;
    case WornItems::kAlso:
      break;
  }
  return chunk.Free();
}

Bits PickFree(const Chunk& chunk, const Ask& ask) {
  if (ask.worn == WornItems::kAlso) return PickItems(chunk, ask.max_items);
  Chunk seen = chunk;
  seen.parked |= chunk.Free() - FreeFor(chunk, ask.worn);
  return PickItems(seen, ask.max_items);
}

bool GoesFirst(const Ask& ask) { return ask.worn == WornItems::kOnly; }

std::int64_t LargestRoom(const std::vector<const Ask*>& asks) {
  std::int64_t room = 0;
  for (const Ask* ask : asks) {
    if (ask->room_bytes == 0) return std::numeric_limits<std::int64_t>::max();
    room = std::max(room, ask->room_bytes);
  }
  return room;
}

std::vector<std::size_t> PickRetries(const std::vector<DueItem>& due, const Ask& ask,
                                     SessionId session) {
  std::vector<std::size_t> picked;
  const int most = std::min(ask.max_items, kRetriesPerLease);
  for (std::size_t i = 0; i < due.size() && static_cast<int>(picked.size()) < most; ++i) {
    const DueItem& item = due[i];
    if (!Fits(item, ask, session)) continue;
    if (picked.empty()) {
      picked.push_back(i);
      if (item.suspect) break;
      continue;
    }
    const DueItem& first = due[picked.front()];
    const bool alike = item.chunk == first.chunk && item.memory_bytes == first.memory_bytes;
    if (alike && !item.suspect) picked.push_back(i);
  }
  return picked;
}

}  // namespace tidemill
