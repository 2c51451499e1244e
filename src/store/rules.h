// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/rows.h"

// What every store decides alike: which call a job's state allows, and how a refusal is worded.
namespace tidemill {

// Chunks of a cancelled job whose free items are parked in one step; bounds how long they are
// locked.
inline constexpr int kParkChunks = 1000;
inline constexpr const char* kSeqTaken = "this seq was used before, for other items";
// Seq of the reaper's own report of a lease; agents count from 0.
inline constexpr std::int32_t kReaperSeq = -1;

Result<Job> SameJobOrConflict(const Job& stored, const NewJob& asked);
// For a part that is not stored yet.
Result<void> MayAddPart(const Job& job, const NewPart& part);
std::vector<NewChunkItems> ChunksOf(const NewPart& part);
bool MayReopen(JobState state);
bool MayFinish(const Job& job);
Bits ItemsToReopen(const Chunk& chunk, const ReopenWhich& which);

// Nothing, if the settlement can be taken at its word for a lease of this length; else why not.
std::optional<std::string> WhyRefused(const Settlement& settlement, int length);

tl::unexpected<Error> NoSuchJob(JobId id);
tl::unexpected<Error> NoSuchChunk(ChunkKey key);
tl::unexpected<Error> NoSuchSession(SessionId id);
tl::unexpected<Error> OtherPartConflict(std::int32_t part);
tl::unexpected<Error> WrongPartsConflict(const Job& job, std::int32_t parts);
tl::unexpected<Error> WrongStateConflict(const Job& job);

}  // namespace tidemill
