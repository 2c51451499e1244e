// SPDX-License-Identifier: Apache-2.0
#include "store/stream_rules.h"

#include <string>

#include "base/limits.h"
#include "store/rows.h"

namespace tidemill {
namespace {

const char* WordsOf(ItemState state) {
  switch (state) {
    case ItemState::kWaiting:
      return "waits for its turn";
    case ItemState::kRunning:
      return "is about to run";
    case ItemState::kSucceeded:
      return "has succeeded";
    case ItemState::kFailed:
      return "has failed";
    case ItemState::kCancelled:
      return "was cancelled";
  }
  return "does not run";
}

}  // namespace

std::int32_t FirstChunkFor(std::int64_t item) {
  return static_cast<std::int32_t>(item / limits::kItemsPerChunk);
}

tl::unexpected<Error> NoSuchItem(const Job& job, std::int64_t item) {
  return Fail(Code::kNotFound, PublicId(job) + " has no item " + std::to_string(item));
}

tl::unexpected<Error> NobodyRunsIt(const Chunk* chunk, std::int64_t item) {
  const char* words = chunk == nullptr
                          ? "ended long ago"
                          : WordsOf(StateOf(*chunk, static_cast<int>(item - chunk->first_item)));
  return Fail(Code::kConflict, "item " + std::to_string(item) + " " + words);
}

tl::unexpected<Error> TooManyStreams() {
  return Fail(Code::kExhausted, "too many people wait for a machine just now; try again soon");
}

}  // namespace tidemill
