// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <algorithm>
#include <set>

#include "base/planted.h"
#include "store/rules.h"
#include "store/standing_rules.h"

namespace tidemill {

Result<JobRow*> MemoryStore::Row(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return NoSuchJob(id);
  return &found->second;
}

void MemoryStore::Change(ChunkKey key, const std::function<void(StoredChunk&)>& change) {
  JobChunks& chunks = jobs_.at(key.job).chunks;
  chunks.Change(key.chunk, change);
  const StoredChunk& stored = chunks.at(key.chunk);
  if (!stored.rolled && IsOver(stored.chunk)) {
    to_roll_up_.insert(key);
  } else {
    to_roll_up_.erase(key);
  }
  touched_.Add(key);
}

void MemoryStore::Enter(JobRow& row, JobState state) {
  const JobId id = row.job.id;
  const bool was = IsUnderWay(row.job.state);
  row.job.state = state;
  if (IsUnderWay(state)) {
    under_way_[id] = &row;
  } else {
    under_way_.erase(id);
  }
  if (IsUnderWay(state) == was) return;
  for (const auto& [number, entry] : row.chunks.all()) touched_.Add({id, number});
}

Result<Job> MemoryStore::CreateJob(const NewJob& job) {
  const std::lock_guard lock(mutex_);
  const auto known = job_keys_.find({job.project, job.key});
  if (known != job_keys_.end()) return SameJobOrConflict(jobs_.at(known->second).job, job);
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
                .uid = job.uid,
                .trial = job.spec.canary > 0};
  row.touched_us = clock_us_();
  under_way_[id] = &row;
  job_keys_[{job.project, job.key}] = id;
  return row.job;
}

Result<Job> MemoryStore::AddPart(JobId id, const NewPart& part) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  Job& job = row->job;
  if (part.number >= 0 && part.number < job.parts) {
    const auto stored = row->parts.find(part.number);
    if (stored == row->parts.end()) return ForgottenPartConflict(part.number);
    if (stored->second.digest != part.digest) return OtherPartConflict(part.number);
    return job;
  }
  TIDEMILL_TRY_VOID(MayAddPart(job, part));
  const std::vector<NewChunkItems> chunks = ChunksOf(part);
  TIDEMILL_TRY_VOID(MayGrow(job, ItemsIn(chunks)));
  Append(*row, chunks);
  row->parts[job.parts++] = {part.digest, Today()};
  if (job.state != JobState::kDraft) ++change_;
  return job;
}

void MemoryStore::Append(JobRow& row, const std::vector<NewChunkItems>& chunks) {
  Job& job = row.job;
  for (const NewChunkItems& items : chunks) {
    const Chunk chunk = NewChunk({job.id, job.chunks++}, job.items, items.length);
    row.chunks.Add(chunk);
    touched_.Add(chunk.key);
    row.bodies[chunk.key.chunk] = items.body;
    job.items += items.length;
  }
  row.touched_us = clock_us_();
}

Result<Job> MemoryStore::SealJob(JobId id, std::int32_t parts) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  if (row->job.state != JobState::kDraft) return row->job;
  if (row->job.parts != parts) return WrongPartsConflict(row->job, parts);
  Enter(*row, JobState::kActive);
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
    Enter(*row, to);
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
  Enter(found->second, JobState::kPaused);
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
    Enter(*row, JobState::kCancelling);
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
  if (!which.items.empty()) {
    std::vector<Chunk> all;
    for (const auto& [number, entry] : row->chunks.all()) all.push_back(entry.stored.chunk);
    TIDEMILL_TRY_VOID(MayReopenItems(job, which.items, all));
  }
  Reopened reopened{.items = 0, .round = job.round};
  for (const auto& [number, entry] : row->chunks.all()) {
    const Chunk& chunk = entry.stored.chunk;
    const Bits items = ItemsToReopen(chunk, which);
    if (items.None()) continue;
    reopened.round = job.round + 1;
    reopened.items += items.Count();
    Change(chunk.key, [&](StoredChunk& changed) {
      Reopen(changed.chunk, items, reopened.round);
      changed.rolled = false;
    });
    row->over.erase(number);
    reports_.Reopen(chunk.key, items);
    stats_.Reopen(chunk.key, items);
    for (const int offset : items.Indexes()) tries_.Drop(chunk, offset);
  }
  if (reopened.items == 0) return reopened;
  job.round = reopened.round;
  if (job.state == JobState::kFinished) Enter(*row, JobState::kActive);
  ++change_;
  return reopened;
}

void MemoryStore::Revoke(JobRow& row, std::vector<SessionId>& revoked) {
  std::set<SessionId> sessions;
  for (int left = limits::kRevokeLeases; left > 0; --left) {
    const LeaseTable::Ids& ids = leases_.OfJob(row.job.id);
    if (ids.empty()) break;
    const Lease lease = leases_.At(*ids.begin());
    Change(lease.chunk, [&](StoredChunk& stored) { tidemill::Revoke(stored.chunk, lease.mine); });
    sessions.insert(lease.session);
    leases_.End(lease.id);
  }
  revoked.assign(sessions.begin(), sessions.end());
}

void MemoryStore::ParkSome(JobRow& row) {
  int chunks_left = kParkChunks;
  int resting_left = kParkResting;
  const JobChunks::Numbers waiting = row.chunks.waiting();
  for (const std::int32_t number : waiting) {
    const Chunk& chunk = row.chunks.at(number).chunk;
    if (chunks_left-- == 0) break;
    const Bits resting = chunk.resting;
    if (resting.Count() > resting_left) continue;
    resting_left -= resting.Count();
    for (const int offset : resting.Indexes()) tries_.SetNotDue(chunk, offset);
    Change(chunk.key, [](StoredChunk& stored) { ParkWaiting(stored.chunk); });
  }
}

Result<Swept> MemoryStore::SweepJob(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  Job& job = row->job;
  Swept swept;
  if (job.state == JobState::kCancelling) {
    if (!Planted(Plant::kCancelKeepsSome)) Revoke(*row, swept.revoked);
    ParkSome(*row);
    const bool leased = !leases_.OfJob(id).empty() && !Planted(Plant::kCancelKeepsSome);
    const bool over = !leased && row->chunks.waiting().empty();
    if (over) Enter(*row, JobState::kCancelled);
    swept.again = !over;
  } else if (MayFinish(job) && row->chunks.AllDone()) {
    Enter(*row, JobState::kFinished);
    job.reason.clear();
  }
  swept.state = job.state;
  return swept;
}

void MemoryStore::DropJob(JobId id) {
  const JobRow& row = jobs_.at(id);
  job_keys_.erase({row.job.project, row.job.key});
  under_way_.erase(id);
  touched_.DropJob(id);
  streams_.DropJob(id);
  jobs_.erase(id);
}

Result<std::int64_t> MemoryStore::DropStale(Duration age) {
  const std::lock_guard lock(mutex_);
  const std::int64_t before = clock_us_() - age.count();
  std::vector<JobId> drafts;
  for (const auto& [id, row] : under_way_) {
    if (row->job.state == JobState::kDraft && row->touched_us < before) drafts.push_back(id);
  }
  for (const JobId id : drafts) DropJob(id);
  streams_.DropOver(clock_us_());
  const TimePoint gone_before{Duration(before)};
  std::erase_if(machine_rows_, [gone_before](const auto& entry) {
    return !entry.second.IsShown() && entry.second.since < gone_before;
  });
  return std::ssize(drafts) + sessions_.DropDead(before);
}

Result<RolledUp> MemoryStore::RollUp(int limit, const RollUpMaker& make) {
  const std::lock_guard lock(mutex_);
  RolledUp rolled;
  while (rolled.chunks < limit && !to_roll_up_.empty()) {
    const ChunkKey key = *to_roll_up_.begin();
    const Chunk& chunk = ChunkOf(key);
    ChunkStat stat{key, chunk.round, Bits(chunk.length()), {}, {}};
    const std::vector<Report> reports = reports_.Take(key);
    for (const Report& report : reports) stat.ended |= report.ended;
    RollUpText text = make(chunk, reports);
    stat.block = std::move(text.block);
    stat.summary = std::move(text.summary);
    stats_.Put(std::move(stat));
    Change(key, [](StoredChunk& stored) { stored.rolled = true; });
    JobRow& row = jobs_.at(key.job);
    if (row.job.open) row.over[key.chunk] = {clock_us_(), ChunkOf(key).failed.Any()};
    ++rolled.chunks;
    rolled.reports += std::ssize(reports);
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
  mark.streams = streams_.Until(mark.clock_us, kAskedStreams);
  return mark;
}

Result<std::vector<SessionId>> MemoryStore::Follow(JobId id, Duration time) {
  const std::lock_guard lock(mutex_);
  if (!jobs_.contains(id)) return Fail(Code::kNotFound, "no such job");
  std::int64_t& until_us = followed_[id];
  until_us = std::max(until_us, clock_us_() + time.count());
  std::set<SessionId> sessions;
  for (const LeaseId lease : leases_.OfJob(id)) sessions.insert(leases_.At(lease).session);
  std::vector<SessionId> first(sessions.begin(), sessions.end());
  if (std::ssize(first) > kFollowSessions) first.resize(kFollowSessions);
  return first;
}

Result<void> MemoryStore::Announce() {
  const std::lock_guard lock(mutex_);
  ++change_;
  return {};
}

}  // namespace tidemill
