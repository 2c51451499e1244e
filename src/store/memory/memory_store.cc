// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <algorithm>
#include <set>

#include "store/rules.h"

namespace tidemill {

bool MemoryStore::JobRow::AllDone() const {
  return std::all_of(chunks.begin(), chunks.end(),
                     [](const StoredChunk& stored) { return stored.chunk.AllDone(); });
}

bool MemoryStore::JobRow::AnyFree() const {
  return std::any_of(chunks.begin(), chunks.end(),
                     [](const StoredChunk& stored) { return stored.chunk.Free().Any(); });
}

bool MemoryStore::JobRow::AnyWaiting() const {
  return std::any_of(chunks.begin(), chunks.end(), [](const StoredChunk& stored) {
    return ItemsIn(stored.chunk, ItemState::kWaiting).Any();
  });
}

Result<MemoryStore::JobRow*> MemoryStore::Row(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return NoSuchJob(id);
  return &found->second;
}

Result<Job> MemoryStore::CreateJob(const NewJob& job) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, row] : jobs_) {
    if (row.job.project == job.project && row.job.key == job.key) {
      return SameJobOrConflict(row.job, job);
    }
  }
  TIDEMILL_TRY_VOID(MayComeAfter(job, [&](JobId other) {
    const auto found = jobs_.find(other);
    return found != jobs_.end() && found->second.job.project == job.project;
  }));
  const JobId id{++last_job_};
  JobRow& row = jobs_[id];
  row.job = Job{.id = id,
                .project = job.project,
                .key = job.key,
                .spec = job.spec,
                .open = job.open,
                .created_ms = clock_us_() / 1000,
                .memory_bytes = job.spec.resources.memory_bytes,
                .image_digest = job.image_digest,
                .owner = job.owner,
                .trial = job.spec.canary > 0};
  row.touched_us = clock_us_();
  return row.job;
}

Result<Job> MemoryStore::AddPart(JobId id, const NewPart& part) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  Job& job = row->job;
  if (part.number >= 0 && part.number < job.parts) {
    if (row->digests[part.number] != part.digest) return OtherPartConflict(part.number);
    return job;
  }
  TIDEMILL_TRY_VOID(MayAddPart(job, part));
  const std::vector<NewChunkItems> chunks = ChunksOf(part);
  TIDEMILL_TRY_VOID(MayGrow(job, ItemsIn(chunks)));
  for (const NewChunkItems& items : chunks) {
    const Chunk chunk = NewChunk({id, job.chunks++}, job.items, items.length);
    row->chunks.push_back({chunk, false});
    row->bodies.push_back(items.body);
    job.items += items.length;
  }
  row->digests.push_back(part.digest);
  ++job.parts;
  row->touched_us = clock_us_();
  if (job.state != JobState::kDraft) ++change_;
  return job;
}

Result<Job> MemoryStore::SealJob(JobId id, std::int32_t parts) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  if (row->job.state != JobState::kDraft) return row->job;
  if (row->job.parts != parts) return WrongPartsConflict(row->job, parts);
  row->job.state = JobState::kActive;
  ++change_;
  return row->job;
}

Result<Job> MemoryStore::CloseJob(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  row->job.open = false;
  return row->job;
}

Result<Job> MemoryStore::Move(JobId id, JobState from, JobState to, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  if (row->job.state == from) {
    row->job.state = to;
    row->job.reason = reason;
    ++change_;
  }
  if (row->job.state != to) return WrongStateConflict(row->job);
  if (to == JobState::kActive) row->job.trial = false;
  return row->job;
}

Result<Job> MemoryStore::PauseJob(JobId id, const std::string& reason) {
  return Move(id, JobState::kActive, JobState::kPaused, reason);
}

Result<Job> MemoryStore::ResumeJob(JobId id) {
  return Move(id, JobState::kPaused, JobState::kActive, "");
}

Result<void> MemoryStore::EndTrial(JobId id) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) found->second.job.trial = false;
  return {};
}

Result<void> MemoryStore::PauseTrial(JobId id, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return {};
  Job& job = found->second.job;
  if (job.state != JobState::kActive || !job.trial) return {};
  job.state = JobState::kPaused;
  job.reason = reason;
  ++change_;
  return {};
}

Result<void> MemoryStore::RaiseMemory(JobId id, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return {};
  Job& job = found->second.job;
  job.memory_bytes = std::max(job.memory_bytes, bytes);
  return {};
}

Result<std::string> MemoryStore::PinImage(JobId id, const std::string& digest) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  if (row->job.image_digest.empty()) row->job.image_digest = digest;
  return row->job.image_digest;
}

Result<Job> MemoryStore::CancelJob(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  Job& job = row->job;
  if (job.state == JobState::kFinished) return WrongStateConflict(job);
  if (job.state != JobState::kCancelled && job.state != JobState::kCancelling) {
    job.state = JobState::kCancelling;
    job.reason.clear();
    ++change_;
  }
  return job;
}

Result<Reopened> MemoryStore::ReopenJob(JobId id, const ReopenWhich& which) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  Job& job = row->job;
  if (!MayReopen(job.state)) return WrongStateConflict(job);
  Reopened reopened{.items = 0, .round = job.round};
  for (StoredChunk& stored : row->chunks) {
    Chunk& chunk = stored.chunk;
    const Bits items = ItemsToReopen(chunk, which);
    if (items.None()) continue;
    reopened.round = job.round + 1;
    reopened.items += items.Count();
    Reopen(chunk, items, reopened.round);
    stored.rolled = false;
    for (auto& [key, report] : reports_) {
      if (report.chunk == chunk.key) report.ended -= items;
    }
    for (auto& [key, stat] : stats_) {
      if (stat.chunk != chunk.key) continue;
      stat.ended -= items;
      ledgered_.erase(key);
    }
    for (const int offset : items.Indexes()) tries_.erase({id, chunk.first_item + offset});
  }
  if (reopened.items == 0) return reopened;
  job.round = reopened.round;
  if (job.state == JobState::kFinished) job.state = JobState::kActive;
  ++change_;
  return reopened;
}

void MemoryStore::Revoke(JobRow& row, std::vector<SessionId>& revoked) {
  std::set<SessionId> sessions;
  int left = limits::kRevokeLeases;
  for (auto it = leases_.begin(); it != leases_.end() && left > 0;) {
    const Lease& lease = it->second;
    if (lease.chunk.job != row.job.id) {
      ++it;
      continue;
    }
    tidemill::Revoke(row.chunks[lease.chunk.chunk].chunk, lease.mine);
    sessions.insert(lease.session);
    it = leases_.erase(it);
    --left;
  }
  revoked.assign(sessions.begin(), sessions.end());
}

void MemoryStore::ParkSome(JobRow& row) {
  int chunks_left = kParkChunks;
  int resting_left = kParkResting;
  for (StoredChunk& stored : row.chunks) {
    Chunk& chunk = stored.chunk;
    if (ItemsIn(chunk, ItemState::kWaiting).None()) continue;
    if (chunks_left-- == 0) break;
    const Bits resting = chunk.resting;
    if (resting.Count() > resting_left) continue;
    resting_left -= resting.Count();
    for (const int offset : resting.Indexes()) TryOf(chunk, offset).due_us.reset();
    ParkWaiting(chunk);
  }
}

Result<Swept> MemoryStore::SweepJob(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  Job& job = row->job;
  Swept swept;
  if (job.state == JobState::kCancelling) {
    Revoke(*row, swept.revoked);
    ParkSome(*row);
    const bool leased = std::any_of(leases_.begin(), leases_.end(), [id](const auto& entry) {
      return entry.second.chunk.job == id;
    });
    if (!leased && !row->AnyWaiting()) job.state = JobState::kCancelled;
    swept.again = job.state == JobState::kCancelling;
  } else if (MayFinish(job) && row->AllDone()) {
    job.state = JobState::kFinished;
    job.reason.clear();
  }
  swept.state = job.state;
  return swept;
}

Result<std::int64_t> MemoryStore::DropStale(Duration age) {
  const std::lock_guard lock(mutex_);
  const std::int64_t before = clock_us_() - age.count();
  const auto jobs = std::erase_if(jobs_, [before](const auto& entry) {
    return entry.second.job.state == JobState::kDraft && entry.second.touched_us < before;
  });
  const auto sessions = std::erase_if(sessions_, [before](const auto& entry) {
    return entry.second.session.state == SessionState::kDead && entry.second.dead_us < before;
  });
  const TimePoint gone_before{Duration(before)};
  std::erase_if(machine_rows_, [gone_before](const auto& entry) {
    return !entry.second.IsShown() && entry.second.since < gone_before;
  });
  return static_cast<std::int64_t>(jobs + sessions);
}

Result<RolledUp> MemoryStore::RollUp(int limit, const RollUpMaker& make) {
  const std::lock_guard lock(mutex_);
  RolledUp rolled;
  for (auto& [id, row] : jobs_) {
    for (StoredChunk& stored : row.chunks) {
      if (rolled.chunks == limit) return rolled;
      const Chunk& chunk = stored.chunk;
      if (stored.rolled || !IsOver(chunk)) continue;
      ChunkStat stat{chunk.key, chunk.round, Bits(chunk.length()), {}, {}};
      std::vector<Report> reports;
      for (auto it = reports_.begin(); it != reports_.end();) {
        if (it->second.chunk != chunk.key) {
          ++it;
          continue;
        }
        stat.ended |= it->second.ended;
        reports.push_back(std::move(it->second));
        it = reports_.erase(it);
      }
      RollUpText text = make(chunk, reports);
      stat.block = std::move(text.block);
      stat.summary = std::move(text.summary);
      stats_[{chunk.key, chunk.round}] = std::move(stat);
      ledgered_.erase({chunk.key, chunk.round});
      stored.rolled = true;
      ++rolled.chunks;
      rolled.reports += static_cast<std::int64_t>(reports.size());
    }
  }
  return rolled;
}

Result<ChangeMark> MemoryStore::ReadChange() {
  const std::lock_guard lock(mutex_);
  ChangeMark mark{change_, clock_us_(), leader_.plan_seq};
  for (const auto& [job, until_us] : followed_) {
    if (until_us > mark.clock_us && std::ssize(mark.followed) < kFollowedJobs) {
      mark.followed.push_back(job);
    }
  }
  return mark;
}

Result<std::vector<SessionId>> MemoryStore::Follow(JobId id, Duration time) {
  const std::lock_guard lock(mutex_);
  if (!jobs_.contains(id)) return Fail(Code::kNotFound, "no such job");
  std::int64_t& until_us = followed_[id];
  until_us = std::max(until_us, clock_us_() + time.count());
  std::set<SessionId> sessions;
  for (const auto& [lease_id, lease] : leases_) {
    if (lease.chunk.job == id) sessions.insert(lease.session);
  }
  std::vector<SessionId> first(sessions.begin(), sessions.end());
  if (std::ssize(first) > kFollowSessions) first.resize(kFollowSessions);
  return first;
}

Result<void> MemoryStore::Announce() {
  const std::lock_guard lock(mutex_);
  ++change_;
  return {};
}

Result<StoreState> MemoryStore::Dump(std::optional<JobId> only, Bodies bodies) {
  const std::lock_guard lock(mutex_);
  StoreState state;
  std::map<JobId, std::size_t> place;
  for (const auto& [id, row] : jobs_) {
    if (only && *only != id) continue;
    place[id] = state.jobs.size();
    JobDump& dump = state.jobs.emplace_back();
    dump.job = row.job;
    dump.chunks = row.chunks;
  }
  const auto add = [&](JobId job, auto field, const auto& value) {
    const auto found = place.find(job);
    if (found != place.end()) (state.jobs[found->second].*field).push_back(value);
  };
  std::set<SessionId> holders;
  for (const auto& [id, lease] : leases_) {
    add(lease.chunk.job, &JobDump::leases, lease);
    if (lease.chunk.job == only) holders.insert(lease.session);
  }
  for (const auto& [id, row] : sessions_) {
    if (!only || holders.contains(id)) state.sessions.push_back(row.session);
  }
  for (const auto& [key, row] : tries_) {
    add(key.first, &JobDump::tries, row.counts);
    if (row.due_us) add(key.first, &JobDump::rests, Rest{key.second, row.chunk, *row.due_us});
  }
  for (const auto& [key, report] : reports_) add(report.chunk.job, &JobDump::reports, report);
  for (const auto& [key, stat] : stats_) add(stat.chunk.job, &JobDump::stats, stat);
  if (bodies == Bodies::kWith) return state;
  for (JobDump& dump : state.jobs) {
    for (Report& report : dump.reports) report.body.clear();
    for (ChunkStat& stat : dump.stats) stat.block = stat.summary = "";
  }
  return state;
}

}  // namespace tidemill
