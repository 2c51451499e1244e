// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "model/access.h"
#include "store/rows.h"

// What every store decides alike: which call a job's state allows, and how a refusal is worded.
namespace tidemill {

// Chunks of a cancelled job whose waiting items are parked in one step, and items of those that
// rest, which have rows of their own; bounds how long they are locked.
inline constexpr int kParkChunks = 1000;
inline constexpr int kParkResting = 20'000;
// Chunks whose free items are counted for a runnable job: half a million items are enough to size
// leases by, and a thousand waiting jobs stay cheap.
inline constexpr int kFreeSampleChunks = 256;
// What a report's body may hold: a frame, and so much for each item that it settles. A chunk's
// reports are read together when they are rolled up; this bounds how much that can be.
inline constexpr std::size_t kReportFrameBytes = 4 * 1024;
inline constexpr std::size_t kReportItemBytes = 250;
static_assert(kReportFrameBytes + limits::kItemsPerChunk * kReportItemBytes <=
              limits::kReportBytes);
// Bodies of one answer of ListOpenReports, all together.
inline constexpr std::int64_t kOpenReportBytes = 16 << 20;
inline constexpr const char* kSeqTaken = "this seq was used before, for other items";
// Seq of the reaper's own report of a lease; agents count from 0.
inline constexpr std::int32_t kReaperSeq = -1;

Result<Job> SameJobOrConflict(const Job& stored, const NewJob& asked);
// Of a job that is not stored yet: those that it comes after are there, in its project.
Result<void> MayComeAfter(const NewJob& job, const std::function<bool(JobId)>& is_there);
// For a part that is not stored yet.
Result<void> MayAddPart(const Job& job, const NewPart& part);
std::vector<NewChunkItems> ChunksOf(const NewPart& part);
std::int64_t ItemsIn(const std::vector<NewChunkItems>& chunks);
// Counts against its project's limit of items.
bool IsUnderWay(JobState state);
bool MayReopen(JobState state);
bool MayFinish(const Job& job);
// Nothing more will happen in the chunk, but for a reopening, and something has: its reports can be
// rolled up. Items are parked only by cancelling, and stay so.
bool IsOver(const Chunk& chunk);
Bits ItemsToReopen(const Chunk& chunk, const ReopenWhich& which);

// Nothing, if the settlement can be taken at its word for a lease of this length; else why not.
std::optional<std::string> WhyRefused(const Settlement& settlement, int length);

// The tokens of a session, as hashes, and the age of the first.
struct SessionTokens {
  std::string current;
  std::string next;  // offered, not used yet; or empty
  Duration age{};
};
// Whether a session that is there is in the pool that one joins.
bool IsSamePlace(const Session& session, const NewSession& joining);
bool IsGood(const SessionTokens& tokens, const std::string& shown, Duration token_life);
// What becomes of them by a sync that showed a good one: the next takes the place of the current
// once it is used, and one that is half as old as it may become gets a next.
enum class TokenTurn : std::uint8_t { kNone, kPromote, kOffer };
TokenTurn TurnOf(const SessionTokens& tokens, const std::string& shown, bool has_spare,
                 Duration token_life);

// Whether items may be added to a project that has so many in jobs that are not over.
Result<void> MayHaveItems(std::int64_t has, std::int64_t more, const ProjectLimits& limits);

tl::unexpected<Error> NotSignedIn();
tl::unexpected<Error> NotAJoinToken();
tl::unexpected<Error> NoSuchToken();
tl::unexpected<Error> NoSuchSecret(const std::string& name);
tl::unexpected<Error> TooManySecrets();
tl::unexpected<Error> NotYourPass();
tl::unexpected<Error> OtherMachineKey(const std::string& machine);
tl::unexpected<Error> NoLeaseOf(JobId job);
tl::unexpected<Error> NoSuchProject(const std::string& name);
tl::unexpected<Error> NoSuchPool(const std::string& name);
tl::unexpected<Error> NoSuchJob(JobId id);
// Nor was there ever, or it is packed away: the job has so many.
tl::unexpected<Error> NoSuchChunk(ChunkKey key, std::int32_t chunks);
tl::unexpected<Error> NoSuchSession(SessionId id);
tl::unexpected<Error> OtherPartConflict(std::int32_t part);
tl::unexpected<Error> ForgottenPartConflict(std::int32_t part);
tl::unexpected<Error> WrongPartsConflict(const Job& job, std::int32_t parts);
tl::unexpected<Error> WrongStateConflict(const Job& job);
tl::unexpected<Error> NotTheLeader();

}  // namespace tidemill
