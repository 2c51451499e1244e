// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/chunk.h"
#include "model/job.h"

// What every store says alike of streams that cannot be.
namespace tidemill {

// The lowest chunk that the item can be in: none before it is longer than kItemsPerChunk.
std::int32_t FirstChunkFor(std::int64_t item);

tl::unexpected<Error> NoSuchItem(const Job& job, std::int64_t item);
// Of an item that nobody has a lease of. Its chunk is null if it is packed away.
tl::unexpected<Error> NobodyRunsIt(const Chunk* chunk, std::int64_t item);
tl::unexpected<Error> TooManyStreams();

}  // namespace tidemill
