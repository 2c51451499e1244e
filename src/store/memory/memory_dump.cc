// SPDX-License-Identifier: Apache-2.0
// All that is stored, for checks.
#include <algorithm>
#include <set>
#include <tuple>

#include "store/memory/memory_store.h"

namespace tidemill {

JobDump MemoryStore::DumpJob(const JobRow& row, Bodies bodies) const {
  const JobId id = row.job.id;
  JobDump dump;
  dump.job = row.job;
  dump.packed = row.chunks.packed();
  for (const LeaseId lease : leases_.OfJob(id)) dump.leases.push_back(leases_.At(lease));
  const TryRows& tries = tries_.all();
  for (auto it = tries.lower_bound({id, 0}); it != tries.end() && it->first.first == id; ++it) {
    const TryRow& tried = it->second;
    dump.tries.push_back(tried.counts);
    if (tried.due_us) dump.rests.push_back({it->first.second, tried.chunk, *tried.due_us});
  }
  for (const auto& [n, entry] : row.chunks.all()) {
    dump.chunks.push_back(entry.stored);
    for (Report& report : reports_.Of({id, n}, bodies)) dump.reports.push_back(std::move(report));
    for (ChunkStat& stat : stats_.Of({id, n}, bodies)) dump.stats.push_back(std::move(stat));
  }
  std::sort(dump.reports.begin(), dump.reports.end(), [](const Report& a, const Report& b) {
    return std::tie(a.lease, a.seq) < std::tie(b.lease, b.seq);
  });
  return dump;
}

Result<StoreState> MemoryStore::Dump(std::optional<JobId> only, Bodies bodies) {
  const std::lock_guard lock(mutex_);
  StoreState state;
  if (!only) {
    for (const auto& [id, row] : jobs_) state.jobs.push_back(DumpJob(row, bodies));
    state.sessions = sessions_.All();
    return state;
  }
  const auto found = jobs_.find(*only);
  if (found == jobs_.end()) return state;
  state.jobs.push_back(DumpJob(found->second, bodies));
  std::set<SessionId> holders;
  for (const Lease& lease : state.jobs[0].leases) holders.insert(lease.session);
  for (const SessionId id : holders) {
    if (const SessionRow* row = sessions_.Find(id)) state.sessions.push_back(row->session);
  }
  return state;
}

void MemoryStore::WatchTouched() {
  const std::lock_guard lock(mutex_);
  touched_.Watch();
}

std::vector<ChunkKey> MemoryStore::TakeTouched() {
  const std::lock_guard lock(mutex_);
  return touched_.Take();
}

ChunkState MemoryStore::DumpChunk(ChunkKey key) {
  const std::lock_guard lock(mutex_);
  const JobRow& row = jobs_.at(key.job);
  ChunkState state;
  state.job = PublicId(row.job);
  state.job_state = row.job.state;
  state.job_round = row.job.round;
  state.stored = row.chunks.at(key.chunk);
  for (const LeaseId id : leases_.OfChunk(key)) {
    const Lease& lease = state.leases.emplace_back(leases_.At(id));
    if (sessions_.FindLive(lease.session) == nullptr) state.dead.insert(lease.session);
  }
  state.rests = tries_.RestsIn(state.stored.chunk);
  state.reports = reports_.Of(key, Bodies::kWithout);
  state.stats = stats_.Of(key, Bodies::kWithout);
  return state;
}

}  // namespace tidemill
