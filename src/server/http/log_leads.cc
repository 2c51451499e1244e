// SPDX-License-Identifier: Apache-2.0
#include "server/http/log_leads.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "server/chunk_walk.h"
#include "server/outcomes.h"

namespace tidemill {
namespace {

// Chunks at once, if the item is not in the first that is tried.
constexpr int kChunksAtOnce = 64;

// No chunk has more items than the limit, so the item's is this one or a later.
Result<Chunk> FindChunk(Store& store, JobId job, std::int64_t item) {
  ChunkFilter filter{
      .from = static_cast<std::int32_t>(item / limits::kItemsPerChunk), .state = {}, .limit = 1};
  while (true) {
    TIDEMILL_TRY(const std::vector<Chunk> chunks, store.ListChunks(job, filter));
    for (const Chunk& chunk : chunks) {
      if (item >= chunk.first_item && item < chunk.first_item + chunk.length()) return chunk;
    }
    if (static_cast<int>(chunks.size()) < filter.limit || chunks.back().first_item > item) {
      return Fail(Code::kNotFound, "the job has no item " + std::to_string(item));
    }
    filter.from = chunks.back().key.chunk + 1;
    filter.limit = kChunksAtOnce;
  }
}

auto AgeOf(const Outcome& outcome) {
  return std::tie(outcome.round, outcome.attempt, outcome.start_ms);
}

}  // namespace

Result<LogLead> FindLogLead(Store& store, JobId job, std::int64_t item) {
  LogLead lead;
  TIDEMILL_TRY(lead.job, store.FindJob(job));
  TIDEMILL_TRY(const Chunk chunk, FindChunk(store, job, item));
  const int offset = static_cast<int>(item - chunk.first_item);
  lead.state = StateOf(chunk, offset);
  lead.was_lost = chunk.lost1.Get(offset) || chunk.suspect.Get(offset);
  TIDEMILL_TRY(const ChunkHistory history, store.FindHistory(chunk.key));
  for (BelievedRows::Row& row : RowsOf(history)) {
    if (row.outcome.item == item) lead.outcomes.push_back(std::move(row.outcome));
  }
  std::sort(lead.outcomes.begin(), lead.outcomes.end(),
            [](const Outcome& a, const Outcome& b) { return AgeOf(a) < AgeOf(b); });
  return lead;
}

LogChoice ChooseLog(const LogLead& lead, const LogWish& wish) {
  LogChoice choice{.round = wish.round, .attempt = wish.attempt};
  const Outcome* found = nullptr;
  for (const Outcome& outcome : lead.outcomes) {
    const bool meant = (!wish.round || outcome.round == *wish.round) &&
                       (!wish.attempt || outcome.attempt == *wish.attempt);
    if (meant) found = &outcome;
  }
  // One that runs, or ran on a machine that is lost, is in no outcome.
  const bool may_be_newer = lead.state == ItemState::kRunning || lead.was_lost;
  if (found == nullptr || (may_be_newer && (!wish.attempt || !wish.round))) return choice;
  choice.round = found->round;
  choice.attempt = found->attempt;
  choice.has_end = !found->log.empty();
  if (lead.was_lost || found->cause == Cause::kLost) return choice;
  choice.last_pack = found->log;
  choice.silent = found->log.empty();
  return choice;
}

Result<SearchLead> FindSearchLead(Store& store, JobId job, std::optional<ItemState> state) {
  SearchLead lead;
  TIDEMILL_TRY(lead.job, store.FindJob(job));
  if (!state) return lead;
  auto items = std::make_shared<ItemSet>();
  const auto add = [&](const Chunk& chunk) -> Result<bool> {
    const Bits wanted = ItemsIn(chunk, *state);
    for (int i = wanted.FindFrom(0); i >= 0; i = wanted.FindFrom(i + 1)) {
      items->Add(chunk.first_item + i);
    }
    return true;
  };
  TIDEMILL_TRY_VOID(ForEachChunk(store, {.job = job, .state = state}, add));
  lead.items = std::move(items);
  return lead;
}

}  // namespace tidemill
