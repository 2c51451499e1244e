// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "store/store.h"

namespace tidemill {

struct ChunkWalk {
  JobId job;
  std::int32_t from = 0;                // the number of the first
  std::optional<ItemState> state = {};  // only chunks that have an item in it
};

// Calls `use` with chunk after chunk, some read at once, until it answers false. False: it did.
Result<bool> ForEachChunk(Store& store, const ChunkWalk& walk,
                          const std::function<Result<bool>(const Chunk&)>& use);

// Of what was read of a chunk that a walk came to: it has been packed away since.
template <typename T>
bool WasPacked(const Result<T>& read) {
  return !read && read.error().code == Code::kNotFound;
}

}  // namespace tidemill
