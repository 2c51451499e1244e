// SPDX-License-Identifier: Apache-2.0
#include "server/chunk_walk.h"

#include <vector>

namespace tidemill {
namespace {

constexpr int kChunksAtOnce = 64;

}  // namespace

Result<bool> ForEachChunk(Store& store, const ChunkWalk& walk,
                          const std::function<Result<bool>(const Chunk&)>& use) {
  ChunkFilter filter{.from = walk.from, .state = walk.state, .limit = kChunksAtOnce};
  while (true) {
    TIDEMILL_TRY(const std::vector<Chunk> chunks, store.ListChunks(walk.job, filter));
    for (const Chunk& chunk : chunks) {
      TIDEMILL_TRY(const bool more, use(chunk));
      if (!more) return false;
    }
    if (static_cast<int>(chunks.size()) < filter.limit) return true;
    filter.from = chunks.back().key.chunk + 1;
  }
}

}  // namespace tidemill
