// SPDX-License-Identifier: Apache-2.0
#include "server/http/log_leads.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "model/places.h"
#include "server/chunk_walk.h"
#include "server/outcomes.h"

namespace tidemill {
namespace {

tl::unexpected<Error> NoSuchItem(const Job& job, std::int64_t item) {
  const std::string number = std::to_string(item);
  if (item >= job.items) return Fail(Code::kNotFound, "the job has no item " + number);
  return Fail(Code::kNotFound, "item " + number + " is packed away: its record is in " +
                                   JobPlace("", job).substr(1) + "ledger/ of the object store");
}

// No chunk has more items than the limit, so the item's is this one or a later; most often this
// one. Numbers of chunks that are packed away are skipped.
Result<Chunk> FindChunk(Store& store, const Job& job, std::int64_t item) {
  auto low =
      static_cast<std::int32_t>(std::min<std::int64_t>(item / limits::kItemsPerChunk, job.chunks));
  std::int32_t high = job.chunks;
  for (std::int32_t next = low; low < high; next = low + (high - low) / 2) {
    TIDEMILL_TRY(const std::vector<Chunk> chunks,
                 store.ListChunks(job.id, {.from = next, .state = {}, .limit = 1}));
    if (chunks.empty() || chunks[0].first_item > item) {
      high = next;
    } else if (item < chunks[0].first_item + chunks[0].length()) {
      return chunks[0];
    } else {
      low = chunks[0].key.chunk + 1;
    }
  }
  return NoSuchItem(job, item);
}

// One that was cancelled has none.
bool HasOutcome(ItemState state) {
  return state == ItemState::kSucceeded || state == ItemState::kFailed;
}

auto AgeOf(const Outcome& outcome) {
  return std::tie(outcome.round, outcome.attempt, outcome.start_ms);
}

}  // namespace

Result<LogLead> FindLogLead(Store& store, JobId job, std::int64_t item) {
  LogLead lead;
  TIDEMILL_TRY(lead.job, store.FindJob(job));
  TIDEMILL_TRY(const Chunk chunk, FindChunk(store, lead.job, item));
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
  if (found == nullptr) return choice;
  if (may_be_newer && (!wish.attempt || !wish.round)) {
    // Of one that is over, the newest outcome is what it ended with, wherever it was lost before.
    choice.has_end = HasOutcome(lead.state) && !found->log.empty();
    return choice;
  }
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
