// SPDX-License-Identifier: Apache-2.0
#include "store/rules.h"

#include <algorithm>

#include "base/limits.h"

namespace tidemill {

Result<Job> SameJobOrConflict(const Job& stored, const NewJob& asked) {
  // Not `open`: the job may have been closed since. And what its image asks of devices is found out
  // anew each time, or not.
  JobSpec spec = asked.spec;
  for (auto& [kind, device] : spec.resources.devices) {
    const auto found = stored.spec.resources.devices.find(kind);
    if (found != stored.spec.resources.devices.end()) device.version = found->second.version;
  }
  if (stored.spec == spec) return stored;
  return Fail(Code::kConflict, "the key '" + asked.key + "' belongs to " + PublicId(stored) +
                                   ", which has another spec; use a new key");
}

Result<void> MayComeAfter(const NewJob& job, const std::function<bool(JobId)>& is_there) {
  for (const JobId id : job.spec.wishes.after) {
    if (is_there(id)) continue;
    return Fail(Code::kInvalid, "it comes after job " + std::to_string(id.number) +
                                    ", and project " + job.project + " has no such job");
  }
  return {};
}

Result<void> MayAddPart(const Job& job, const NewPart& part) {
  if (part.number != job.parts) {
    return Fail(Code::kConflict, "part " + std::to_string(part.number) +
                                     " would leave a gap; send part " + std::to_string(job.parts) +
                                     " next");
  }
  const bool running = job.state == JobState::kActive || job.state == JobState::kPaused;
  if (job.state != JobState::kDraft && !(running && job.open)) {
    return Fail(Code::kConflict, PublicId(job) + " takes no more items: it is " +
                                     std::string(JobStateName(job.state)) +
                                     (running ? " and not open" : ""));
  }
  std::int64_t items = job.items + part.range_items;
  for (const NewChunkItems& chunk : part.chunks) items += chunk.length;
  if (items > limits::kItemsPerJob) {
    return Fail(Code::kInvalid,
                "a job has at most " + std::to_string(limits::kItemsPerJob) + " items; split it");
  }
  return {};
}

std::vector<NewChunkItems> ChunksOf(const NewPart& part) {
  if (part.range_items == 0) return part.chunks;
  std::vector<NewChunkItems> chunks;
  for (std::int64_t left = part.range_items; left > 0; left -= limits::kItemsPerChunk) {
    const auto length = std::min<std::int64_t>(left, limits::kItemsPerChunk);
    chunks.push_back({static_cast<std::int32_t>(length), {}});
  }
  return chunks;
}

bool MayReopen(JobState state) {
  return state == JobState::kActive || state == JobState::kPaused || state == JobState::kFinished;
}

bool MayFinish(const Job& job) {
  return !job.open && (job.state == JobState::kActive || job.state == JobState::kPaused);
}

bool IsOver(const Chunk& chunk) {
  return chunk.done.Any() && (chunk.done | chunk.parked).Count() == chunk.length();
}

Bits ItemsToReopen(const Chunk& chunk, const ReopenWhich& which) {
  if (!which.failed_of.empty()) {
    const auto found = which.failed_of.find(chunk.key.chunk);
    if (found == which.failed_of.end()) return Bits(chunk.length());
    return found->second.Resized(chunk.length()) & chunk.failed;
  }
  if (which.items.empty()) return chunk.failed;
  Bits items(chunk.length());
  for (const std::int64_t item : which.items) {
    const std::int64_t offset = item - chunk.first_item;
    if (offset >= 0 && offset < chunk.length()) items.Set(static_cast<int>(offset));
  }
  return items & chunk.done;
}

namespace {

bool Within(const Bits& part, const Bits& whole) {
  return whole.Resized(limits::kItemsPerChunk).Contains(part.Resized(limits::kItemsPerChunk));
}

}  // namespace

std::optional<std::string> WhyRefused(const Settlement& settlement, int length) {
  if (settlement.seq < 0) return "a seq counts from 0";
  Bits said(limits::kItemsPerChunk);
  for (const Bits* plane :
       {&settlement.ok, &settlement.failed, &settlement.memory, &settlement.back}) {
    const Bits bits = plane->Resized(limits::kItemsPerChunk);
    if (bits.FindFrom(length) >= 0) {
      return "an offset lies past the end of the chunk, which has " + std::to_string(length) +
             " items";
    }
    if (said.Intersects(bits)) return "an item is said to have ended in two ways";
    said |= bits;
  }
  if (!Within(settlement.final, settlement.failed)) return "an item is final and has not failed";
  if (!Within(settlement.begun, settlement.back)) return "an item had begun and does not come back";
  const auto items = static_cast<std::size_t>(settlement.ok.Count() + settlement.failed.Count() +
                                              settlement.memory.Count() + settlement.begun.Count());
  if (settlement.body.size() > kReportFrameBytes + kReportItemBytes * items) {
    return "the body is too large for the items it settles";
  }
  return std::nullopt;
}

std::int64_t ItemsIn(const std::vector<NewChunkItems>& chunks) {
  std::int64_t items = 0;
  for (const NewChunkItems& chunk : chunks) items += chunk.length;
  return items;
}

bool IsUnderWay(JobState state) {
  return state != JobState::kFinished && state != JobState::kCancelled;
}

bool IsSamePlace(const Session& session, const NewSession& joining) {
  return session.project == joining.project && session.pool == joining.pool;
}

bool IsGood(const SessionTokens& tokens, const std::string& shown, Duration token_life) {
  if (shown.empty()) return false;
  // One that was offered is younger than the one it replaces.
  return shown == tokens.next || (shown == tokens.current && tokens.age < token_life);
}

TokenTurn TurnOf(const SessionTokens& tokens, const std::string& shown, bool has_spare,
                 Duration token_life) {
  if (!tokens.next.empty() && shown == tokens.next) return TokenTurn::kPromote;
  return has_spare && tokens.age >= token_life / 2 ? TokenTurn::kOffer : TokenTurn::kNone;
}

Result<void> MayHaveItems(std::int64_t has, std::int64_t more, const ProjectLimits& limits) {
  if (has + more <= limits.items) return {};
  return Fail(Code::kExhausted, "the project has " + std::to_string(has) +
                                    " items in jobs that are not over, and may have " +
                                    std::to_string(limits.items));
}

tl::unexpected<Error> NotSignedIn() {
  return Fail(Code::kNobody, "this token is not known here, has expired or was revoked");
}

tl::unexpected<Error> NotAJoinToken() {
  return Fail(Code::kNobody,
              "this join token is not known here, has expired, was revoked or is used up");
}

tl::unexpected<Error> NoSuchToken() { return Fail(Code::kNotFound, "there is no such token"); }

tl::unexpected<Error> NoSuchSecret(const std::string& name) {
  return Fail(Code::kNotFound, "there is no secret " + name);
}

tl::unexpected<Error> TooManySecrets() {
  return Fail(Code::kExhausted, "the project has " + std::to_string(limits::kSecretsPerProject) +
                                    " secrets already; remove some");
}

tl::unexpected<Error> NotYourPass() {
  return Fail(Code::kLost, "this session has ended, or the token is not its own; join again");
}

tl::unexpected<Error> OtherMachineKey(const std::string& machine) {
  return Fail(Code::kConflict, "a machine called " + machine +
                                   " is here with another key; give this one another name, or wait "
                                   "until the other's session is over");
}

tl::unexpected<Error> NoLeaseOf(JobId job) {
  return Fail(Code::kForbidden, "this session holds no lease of job " + std::to_string(job.number));
}

tl::unexpected<Error> NoSuchProject(const std::string& name) {
  return Fail(Code::kNotFound, "there is no project " + name);
}

tl::unexpected<Error> NoSuchPool(const std::string& name) {
  return Fail(Code::kNotFound, "there is no pool " + name);
}

tl::unexpected<Error> NoSuchJob(JobId id) {
  return Fail(Code::kNotFound, "there is no job with the number " + std::to_string(id.number));
}

tl::unexpected<Error> ForgottenPartConflict(std::int32_t part) {
  return Fail(Code::kConflict, "part " + std::to_string(part) +
                                   " was sent long ago, and nobody knows what was in it");
}

tl::unexpected<Error> NoSuchChunk(ChunkKey key, std::int32_t chunks) {
  if (key.chunk >= 0 && key.chunk < chunks) {
    return Fail(Code::kNotFound, "chunk " + std::to_string(key.chunk) + " of job " +
                                     std::to_string(key.job.number) +
                                     " is packed away: its record is in the job's ledger, in the "
                                     "object store");
  }
  return Fail(Code::kNotFound, "job " + std::to_string(key.job.number) + " has no chunk " +
                                   std::to_string(key.chunk));
}

tl::unexpected<Error> NoSuchSession(SessionId id) {
  return Fail(Code::kLost, "there is no live session " + ToString(id) + "; join again");
}

tl::unexpected<Error> OtherPartConflict(std::int32_t part) {
  return Fail(Code::kConflict,
              "part " + std::to_string(part) + " is stored already, with other items");
}

tl::unexpected<Error> WrongPartsConflict(const Job& job, std::int32_t parts) {
  return Fail(Code::kConflict, PublicId(job) + " has " + std::to_string(job.parts) +
                                   " parts, not " + std::to_string(parts) +
                                   "; send the missing ones, or seal with the right number");
}

tl::unexpected<Error> WrongStateConflict(const Job& job) {
  return Fail(Code::kConflict, PublicId(job) + " is " + std::string(JobStateName(job.state)));
}

tl::unexpected<Error> NotTheLeader() {
  return Fail(Code::kConflict, "another server leads by now");
}

}  // namespace tidemill
