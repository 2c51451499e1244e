// SPDX-License-Identifier: Apache-2.0
#include "store/check.h"

#include <map>
#include <optional>
#include <set>

namespace tidemill {
namespace {

class JobCheck {
 public:
  JobCheck(const JobDump& dump, const std::set<SessionId>& alive, std::vector<std::string>& out)
      : dump_(dump), alive_(alive), out_(out) {}

  void Run() {
    CheckCover();
    for (const StoredChunk& stored : dump_.chunks) CheckStates(stored.chunk);
    CheckLeases();
    CheckRests();
    CheckOutcomes();
    CheckEnd();
  }

 private:
  void Breach(const std::string& what) { out_.push_back(PublicId(dump_.job) + ": " + what); }
  void Breach(const Chunk& chunk, const std::string& what) {
    Breach("chunk " + std::to_string(chunk.key.chunk) + ": " + what);
  }
  const Chunk* FindChunk(ChunkKey key) const {
    const auto number = static_cast<std::size_t>(key.chunk);
    return number < dump_.chunks.size() ? &dump_.chunks[number].chunk : nullptr;
  }

  void CheckCover() {
    std::int64_t next_item = 0;
    std::int32_t next_chunk = 0;
    for (const StoredChunk& stored : dump_.chunks) {
      const Chunk& chunk = stored.chunk;
      if (chunk.key.chunk != next_chunk++) Breach(chunk, "is out of its place");
      if (chunk.first_item != next_item) Breach(chunk, "does not begin where the last one ended");
      next_item = chunk.first_item + chunk.length();
    }
    if (next_item != dump_.job.items) {
      Breach("its chunks hold " + std::to_string(next_item) + " items, it has " +
             std::to_string(dump_.job.items));
    }
  }

  void CheckStates(const Chunk& chunk) {
    if (chunk.done.Intersects(chunk.leased)) Breach(chunk, "an item is done and leased");
    if (chunk.parked.Intersects(chunk.done | chunk.leased)) {
      Breach(chunk, "a parked item is done or leased");
    }
    if (chunk.resting.Intersects(chunk.done | chunk.leased | chunk.parked)) {
      Breach(chunk, "a resting item is done, leased or parked");
    }
    if (!chunk.done.Contains(chunk.failed)) Breach(chunk, "an item has failed and is not done");
    if (chunk.lost1.Intersects(chunk.suspect)) Breach(chunk, "an item was lost once and twice");
  }

  void CheckLeases() {
    std::map<ChunkKey, Bits> owed;
    for (const Lease& lease : dump_.leases) {
      const std::string name = "lease " + ToString(lease.id);
      if (lease.mine.None()) Breach(name + " owes nothing");
      if (!alive_.contains(lease.session)) Breach(name + " belongs to a session that is not alive");
      const Chunk* chunk = FindChunk(lease.chunk);
      if (chunk == nullptr || chunk->length() != lease.mine.length()) {
        Breach(name + " does not fit its chunk");
        continue;
      }
      Bits& sum = owed.try_emplace(lease.chunk, Bits(chunk->length())).first->second;
      if (sum.Intersects(lease.mine)) Breach(name + " owes an item that another lease owes");
      sum |= lease.mine;
    }
    for (const StoredChunk& stored : dump_.chunks) {
      const auto found = owed.find(stored.chunk.key);
      const Bits sum = found == owed.end() ? Bits(stored.chunk.length()) : found->second;
      if (sum != stored.chunk.leased) Breach(stored.chunk, "what is leased is not what leases owe");
    }
  }

  void CheckRests() {
    std::map<ChunkKey, Bits> due;
    for (const Rest& rest : dump_.rests) {
      const ChunkKey key{dump_.job.id, rest.chunk};
      const Chunk* chunk = FindChunk(key);
      const std::int64_t offset = chunk == nullptr ? -1 : rest.item - chunk->first_item;
      if (offset < 0 || offset >= chunk->length()) {
        Breach("item " + std::to_string(rest.item) + " is due in a chunk that has it not");
        continue;
      }
      Bits& bits = due.try_emplace(key, Bits(chunk->length())).first->second;
      bits.Set(static_cast<int>(offset));
    }
    for (const StoredChunk& stored : dump_.chunks) {
      const auto found = due.find(stored.chunk.key);
      const Bits bits = found == due.end() ? Bits(stored.chunk.length()) : found->second;
      if (bits != stored.chunk.resting) Breach(stored.chunk, "what rests is not what is due");
    }
  }

  void AddOutcomes(ChunkKey key, const Bits& ended, std::map<ChunkKey, Bits>& sums) {
    const Chunk* chunk = FindChunk(key);
    if (chunk == nullptr || chunk->length() != ended.length()) {
      Breach("a report does not fit its chunk");
      return;
    }
    Bits& sum = sums.try_emplace(key, Bits(chunk->length())).first->second;
    if (sum.Intersects(ended)) Breach(*chunk, "an item has two outcomes");
    sum |= ended;
  }

  void CheckOutcomes() {
    std::map<ChunkKey, Bits> sums;
    for (const Report& report : dump_.reports) {
      if (!report.settled.Contains(report.ended)) Breach("a report ends what it did not settle");
      AddOutcomes(report.chunk, report.ended, sums);
    }
    for (const ChunkStat& stat : dump_.stats) AddOutcomes(stat.chunk, stat.ended, sums);
    for (const StoredChunk& stored : dump_.chunks) {
      const auto found = sums.find(stored.chunk.key);
      const Bits sum = found == sums.end() ? Bits(stored.chunk.length()) : found->second;
      if ((stored.chunk.done - sum).Any()) Breach(stored.chunk, "a done item has no outcome");
      if ((sum - stored.chunk.done).Any()) Breach(stored.chunk, "an item has an outcome, not done");
    }
  }

  void CheckEnd() {
    const JobState state = dump_.job.state;
    if (state == JobState::kFinished) {
      for (const StoredChunk& stored : dump_.chunks) {
        if (!stored.chunk.AllDone()) Breach(stored.chunk, "is not done in a finished job");
      }
    }
    if (state == JobState::kCancelled) {
      for (const StoredChunk& stored : dump_.chunks) {
        if (ItemsIn(stored.chunk, ItemState::kWaiting).Any()) {
          Breach(stored.chunk, "has waiting items in a cancelled job");
        }
      }
    }
    const bool over = state == JobState::kFinished || state == JobState::kCancelled;
    if ((over || state == JobState::kDraft) && !dump_.leases.empty()) {
      Breach("has leases and is " + std::string(JobStateName(state)));
    }
  }

  const JobDump& dump_;
  const std::set<SessionId>& alive_;
  std::vector<std::string>& out_;
};

}  // namespace

std::vector<std::string> CheckConservation(const StoreState& state) {
  std::set<SessionId> alive;
  for (const Session& session : state.sessions) {
    if (session.state != SessionState::kDead) alive.insert(session.id);
  }
  std::vector<std::string> breaches;
  for (const JobDump& dump : state.jobs) JobCheck(dump, alive, breaches).Run();
  return breaches;
}

namespace {

// Jobs that are listed at once; each brings its whole spec.
constexpr int kCheckedJobs = 100;

Result<void> CheckJobs(Store& store, std::optional<JobState> which,
                       std::vector<std::string>& breaches) {
  JobFilter filter{.state = which, .before = std::nullopt, .limit = kCheckedJobs};
  while (true) {
    TIDEMILL_TRY(const std::vector<Job> jobs, store.ListJobs(filter));
    if (jobs.empty()) return {};
    for (const Job& job : jobs) {
      TIDEMILL_TRY(const StoreState state, store.Dump(job.id, Bodies::kWithout));
      for (std::string& breach : CheckConservation(state)) breaches.push_back(std::move(breach));
    }
    filter.before = jobs.back().id;
  }
}

}  // namespace

Result<std::vector<std::string>> CheckStore(Store& store) {
  std::vector<std::string> breaches;
  TIDEMILL_TRY_VOID(CheckJobs(store, std::nullopt, breaches));
  return breaches;
}

Result<std::vector<std::string>> CheckLiveJobs(Store& store) {
  std::vector<std::string> breaches;
  for (const JobState state : {JobState::kActive, JobState::kPaused, JobState::kCancelling}) {
    TIDEMILL_TRY_VOID(CheckJobs(store, state, breaches));
  }
  return breaches;
}

}  // namespace tidemill
