// SPDX-License-Identifier: Apache-2.0
#include "store/check.h"

#include <map>
#include <utility>

namespace tidemill {
namespace {

constexpr const char* kCover = "S01";
constexpr const char* kStates = "S02";
constexpr const char* kLeases = "S03";
constexpr const char* kOutcomes = "S04";
constexpr const char* kHolders = "S07";
constexpr const char* kCounts = "S12";
constexpr const char* kEnds = "S14";

constexpr const char* kLeaseLost = "does not fit its chunk";
constexpr const char* kReportLost = "a report does not fit its chunk";

std::string DueElsewhere(const Rest& rest) {
  return "item " + std::to_string(rest.item) + " is due in a chunk that has it not";
}

class ChunkCheck {
 public:
  ChunkCheck(const ChunkState& state, std::vector<Breach>& out)
      : state_(state), chunk_(state.stored.chunk), out_(out) {}

  void Run() {
    CheckStates();
    CheckLeases();
    CheckRests();
    CheckOutcomes();
    CheckEnd();
  }

 private:
  void Broken(const char* id, const std::string& what) {
    const std::string number = std::to_string(chunk_.key.chunk);
    out_.push_back({id, state_.job + ": chunk " + number + ": " + what});
  }
  void Broken(const char* id, const Lease& lease, const std::string& what) {
    Broken(id, "lease " + ToString(lease.id) + " " + what);
  }

  void CheckStates() {
    const Chunk& chunk = chunk_;
    if (chunk.done.Intersects(chunk.leased)) Broken(kStates, "an item is done and leased");
    if (chunk.parked.Intersects(chunk.done | chunk.leased)) {
      Broken(kStates, "a parked item is done or leased");
    }
    if (chunk.resting.Intersects(chunk.done | chunk.leased | chunk.parked)) {
      Broken(kStates, "a resting item is done, leased or parked");
    }
    if (!chunk.done.Contains(chunk.failed)) Broken(kStates, "an item has failed and is not done");
    if (chunk.lost1.Intersects(chunk.suspect)) Broken(kStates, "an item was lost once and twice");
  }

  void CheckLeases() {
    Bits owed(chunk_.length());
    for (const Lease& lease : state_.leases) {
      if (lease.mine.None()) Broken(kLeases, lease, "owes nothing");
      if (state_.dead.contains(lease.session)) {
        Broken(kHolders, lease, "belongs to a session that is not alive");
      }
      if (lease.mine.length() != chunk_.length()) {
        Broken(kLeases, lease, kLeaseLost);
        continue;
      }
      if (owed.Intersects(lease.mine)) Broken(kLeases, lease, "owes an item of another lease");
      owed |= lease.mine;
    }
    if (owed != chunk_.leased) Broken(kLeases, "what is leased is not what leases owe");
  }

  void CheckRests() {
    Bits due(chunk_.length());
    for (const Rest& rest : state_.rests) {
      const std::int64_t offset = rest.item - chunk_.first_item;
      if (rest.chunk != chunk_.key.chunk || offset < 0 || offset >= chunk_.length()) {
        Broken(kStates, DueElsewhere(rest));
        continue;
      }
      due.Set(static_cast<int>(offset));
    }
    if (due != chunk_.resting) Broken(kStates, "what rests is not what is due");
  }

  void AddOutcomes(const Bits& ended, Bits& sum) {
    if (ended.length() != chunk_.length()) {
      Broken(kOutcomes, kReportLost);
      return;
    }
    if (sum.Intersects(ended)) Broken(kOutcomes, "an item has two outcomes");
    sum |= ended;
  }

  void CheckOutcomes() {
    Bits sum(chunk_.length());
    for (const Report& report : state_.reports) {
      AddOutcomes(report.ended, sum);
      if (report.settled.length() != report.ended.length()) {
        Broken(kOutcomes, kReportLost);
      } else if (!report.settled.Contains(report.ended)) {
        Broken(kOutcomes, "a report ends what it did not settle");
      }
    }
    for (const ChunkStat& stat : state_.stats) AddOutcomes(stat.ended, sum);
    if ((chunk_.done - sum).Any()) Broken(kOutcomes, "a done item has no outcome");
    if ((sum - chunk_.done).Any()) Broken(kOutcomes, "an item has an outcome, not done");
  }

  void CheckEnd() {
    const JobState job = state_.job_state;
    if (job == JobState::kFinished && !chunk_.AllDone()) {
      Broken(kEnds, "is not done in a finished job");
    }
    if (job == JobState::kCancelled && ItemsIn(chunk_, ItemState::kWaiting).Any()) {
      Broken(kEnds, "has waiting items in a cancelled job");
    }
    const bool over = job == JobState::kFinished || job == JobState::kCancelled;
    if ((over || job == JobState::kDraft) && !state_.leases.empty()) {
      Broken(kHolders, "has leases and its job is " + std::string(JobStateName(job)));
    }
  }

  const ChunkState& state_;
  const Chunk& chunk_;
  std::vector<Breach>& out_;
};

// A job as a whole, and then its chunks one after the other: each is a copy, all of them at once
// would be too much.
class JobCheck {
 public:
  JobCheck(const JobDump& dump, const std::set<SessionId>& alive, std::vector<Breach>& out)
      : dump_(dump), name_(PublicId(dump.job)), alive_(alive), out_(out) {
    for (const StoredChunk& stored : dump.chunks) rows_[stored.chunk.key.chunk];
  }

  void Run() {
    CheckCover();
    SortRows();
    for (const StoredChunk& stored : dump_.chunks) ChunkCheck(StateOf(stored), out_).Run();
  }

 private:
  // What the job has of a chunk.
  struct Rows {
    std::vector<const Lease*> leases;
    std::vector<const Rest*> rests;
    std::vector<const Report*> reports;
    std::vector<const ChunkStat*> stats;
  };

  void Broken(const char* id, const std::string& what) {
    out_.push_back({id, name_ + ": " + what});
  }

  void CheckCover() {
    const PackedItems& packed = dump_.packed;
    const bool dense = packed.items == 0;
    std::int64_t next_item = 0, held = 0;
    std::int32_t next_chunk = 0;
    for (const StoredChunk& stored : dump_.chunks) {
      const Chunk& chunk = stored.chunk;
      const std::int32_t number = chunk.key.chunk;
      const std::string name = "chunk " + std::to_string(number);
      if (dense ? number != next_chunk : number < next_chunk) {
        Broken(kCover, name + ": is out of its place");
      }
      if (dense ? chunk.first_item != next_item : chunk.first_item < next_item) {
        Broken(kCover, name + ": does not begin where the last one ended");
      }
      next_chunk = number + 1;
      next_item = chunk.first_item + chunk.length();
      held += chunk.length();
    }
    if (next_item > dump_.job.items || next_chunk > dump_.job.chunks) {
      Broken(kCover, "its last chunk ends behind its items");
    }
    if (packed.failed < 0 || packed.failed > packed.items) {
      Broken(kCover, "more is packed away as failed than is packed away");
    }
    if (held + packed.items == dump_.job.items) return;
    const std::string also =
        dense ? "" : " and " + std::to_string(packed.items) + " are packed away";
    Broken(kCover, "its chunks hold " + std::to_string(held) + " items" + also + ", it has " +
                       std::to_string(dump_.job.items));
  }

  // Nothing, if the job has no such chunk.
  Rows* RowsOf(std::int32_t chunk) {
    const auto found = rows_.find(chunk);
    return found == rows_.end() ? nullptr : &found->second;
  }

  void SortRows() {
    for (const Lease& lease : dump_.leases) {
      if (Rows* rows = RowsOf(lease.chunk.chunk)) {
        rows->leases.push_back(&lease);
      } else {
        Broken(kLeases, "lease " + ToString(lease.id) + " " + kLeaseLost);
      }
    }
    for (const Rest& rest : dump_.rests) {
      if (Rows* rows = RowsOf(rest.chunk)) {
        rows->rests.push_back(&rest);
      } else {
        Broken(kStates, DueElsewhere(rest));
      }
    }
    for (const Report& report : dump_.reports) {
      if (Rows* rows = RowsOf(report.chunk.chunk)) {
        rows->reports.push_back(&report);
      } else {
        Broken(kOutcomes, kReportLost);
      }
    }
    for (const ChunkStat& stat : dump_.stats) {
      if (Rows* rows = RowsOf(stat.chunk.chunk)) {
        rows->stats.push_back(&stat);
      } else {
        Broken(kOutcomes, kReportLost);
      }
    }
  }

  ChunkState StateOf(const StoredChunk& stored) const {
    const Rows& rows = rows_.at(stored.chunk.key.chunk);
    ChunkState state;
    state.job = name_;
    state.job_state = dump_.job.state;
    state.job_round = dump_.job.round;
    state.stored = stored;
    for (const Lease* lease : rows.leases) {
      state.leases.push_back(*lease);
      if (!alive_.contains(lease->session)) state.dead.insert(lease->session);
    }
    for (const Rest* rest : rows.rests) state.rests.push_back(*rest);
    for (const Report* report : rows.reports) state.reports.push_back(*report);
    for (const ChunkStat* stat : rows.stats) state.stats.push_back(*stat);
    return state;
  }

  const JobDump& dump_;
  const std::string name_;
  const std::set<SessionId>& alive_;
  std::vector<Breach>& out_;
  std::map<std::int32_t, Rows> rows_;  // by chunk
};

}  // namespace

std::string ToString(const Breach& breach) { return breach.id + " " + breach.what; }

void PrintTo(const Breach& breach, std::ostream* out) { *out << ToString(breach); }

std::vector<Breach> CheckChunk(const ChunkState& state) {
  std::vector<Breach> breaches;
  ChunkCheck(state, breaches).Run();
  return breaches;
}

std::vector<Breach> CheckConservation(const StoreState& state) {
  std::set<SessionId> alive;
  for (const Session& session : state.sessions) {
    if (session.state != SessionState::kDead) alive.insert(session.id);
  }
  std::vector<Breach> breaches;
  for (const JobDump& dump : state.jobs) JobCheck(dump, alive, breaches).Run();
  return breaches;
}

std::vector<Breach> CheckCounts(const JobCounts& counts) {
  const Counts& has = counts.counts;
  const std::int64_t sum = has.succeeded + has.failed + has.running + has.waiting + has.cancelled;
  if (sum == has.total && sum == counts.job.items) return {};
  return {{kCounts, PublicId(counts.job) + ": " + std::to_string(sum) + " items are counted, of " +
                        std::to_string(has.total) + " and " + std::to_string(counts.job.items)}};
}

std::optional<Breach> CheckMove(const std::string& job, JobMark before, JobMark after) {
  const auto broken = [&](const std::string& what) {
    return Breach{kEnds, job + ": was " + std::string(JobStateName(before.state)) + " and " + what +
                             std::string(JobStateName(after.state))};
  };
  if (after.round < before.round) return broken("lost a round: it is ");
  if (after.state == before.state) return std::nullopt;
  switch (before.state) {
    case JobState::kCancelled:
      return broken("is ");
    case JobState::kCancelling:
      if (after.state != JobState::kCancelled) return broken("is ");
      break;
    case JobState::kFinished:
      if (after.round == before.round) return broken("was not reopened: it is ");
      break;
    default:
      if (after.state == JobState::kDraft) return broken("is ");
  }
  return std::nullopt;
}

namespace {

// Jobs that are listed at once; each brings its whole spec.
constexpr int kCheckedJobs = 100;

Result<void> CheckJobs(Store& store, std::optional<JobState> which, std::vector<Breach>& breaches) {
  JobFilter filter{.state = which, .before = std::nullopt, .limit = kCheckedJobs};
  while (true) {
    TIDEMILL_TRY(const std::vector<Job> jobs, store.ListJobs(filter));
    if (jobs.empty()) return {};
    for (const Job& job : jobs) {
      TIDEMILL_TRY(const StoreState state, store.Dump(job.id, Bodies::kWithout));
      for (Breach& breach : CheckConservation(state)) breaches.push_back(std::move(breach));
    }
    filter.before = jobs.back().id;
  }
}

}  // namespace

Result<std::vector<Breach>> CheckStore(Store& store) {
  std::vector<Breach> breaches;
  TIDEMILL_TRY_VOID(CheckJobs(store, std::nullopt, breaches));
  return breaches;
}

Result<std::vector<Breach>> CheckLiveJobs(Store& store) {
  std::vector<Breach> breaches;
  for (const JobState state : {JobState::kActive, JobState::kPaused, JobState::kCancelling}) {
    TIDEMILL_TRY_VOID(CheckJobs(store, state, breaches));
  }
  return breaches;
}

}  // namespace tidemill
