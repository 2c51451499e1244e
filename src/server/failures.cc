// SPDX-License-Identifier: Apache-2.0
#include "server/failures.h"

#include <functional>
#include <utility>
#include <vector>

#include "server/chunk_walk.h"
#include "server/outcomes.h"

namespace tidemill {
namespace {

// Some 8 million items: about ten seconds of reading.
constexpr int kMostChunks = 4096;

// Of an item whose outcome nobody can read.
constexpr const char* kUnread = "its outcome cannot be read";

using OnFailed = std::function<void(const Chunk&, int offset, const Outcome&)>;

Result<void> ReadChunk(Store& store, const Chunk& chunk, const OnFailed& on_failed) {
  const auto history = store.FindHistory(chunk.key);
  if (WasPacked(history)) return {};
  if (!history) return tl::unexpected(history.error());
  const ChunkOutcomes outcomes(*history);
  for (const int offset : chunk.failed.Indexes()) {
    const ChunkOutcomes::Known* known = outcomes.Find(chunk.first_item + offset);
    if (known == nullptr) {
      Outcome unread;
      unread.item = chunk.first_item + offset;
      unread.cause = Cause::kFailed;
      unread.error = kUnread;
      on_failed(chunk, offset, unread);
    } else if (known->newest.cause != Cause::kSucceeded) {
      on_failed(chunk, offset, known->newest);
    }  // else it was reopened since the chunk was read, and has succeeded
  }
  return {};
}

// False if there are more chunks than are read.
Result<bool> ForEachFailed(Store& store, JobId id, int most_chunks, const OnFailed& on_failed) {
  TIDEMILL_TRY_VOID(store.FindJob(id));
  return ForEachChunk(store, {.job = id, .state = ItemState::kFailed},
                      [&](const Chunk& chunk) -> Result<bool> {
                        if (most_chunks-- == 0) return false;
                        TIDEMILL_TRY_VOID(ReadChunk(store, chunk, on_failed));
                        return true;
                      });
}

}  // namespace

Result<FailureSummary> GroupFailures(Store& store, JobId id) {
  FailureGroups groups;
  TIDEMILL_TRY(const bool whole, ForEachFailed(store, id, kMostChunks,
                                               [&](const Chunk&, int, const Outcome& outcome) {
                                                 groups.Add(outcome);
                                               }));
  FailureSummary summary = groups.Finish();
  summary.partial = summary.partial || !whole;
  return summary;
}

// A retry is asked for once, and must not leave some out: it reads all.
Result<std::map<std::int32_t, Bits>> FindFailed(Store& store, JobId id, const FailureKey& key) {
  std::map<std::int32_t, Bits> found;
  TIDEMILL_TRY_VOID(ForEachFailed(
      store, id, INT32_MAX, [&](const Chunk& chunk, int offset, const Outcome& outcome) {
        if (FailureKeyOf(outcome) != key) return;
        found.try_emplace(chunk.key.chunk, Bits(chunk.length())).first->second.Set(offset);
      }));
  return found;
}

}  // namespace tidemill
