// SPDX-License-Identifier: Apache-2.0
// What people and servers ask for. Nothing here changes anything.
#include <algorithm>
#include <iterator>

#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

Result<Job> MemoryStore::FindJob(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  return row->job;
}

Result<JobCounts> MemoryStore::CountItems(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  return JobCounts{row->job, row->chunks.counts()};
}

Result<std::vector<JobCounts>> MemoryStore::CountJobs(const std::vector<JobId>& ids) {
  const std::lock_guard lock(mutex_);
  std::vector<JobCounts> counts;
  for (const JobId id : ids) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    counts.push_back({found->second.job, found->second.chunks.counts()});
  }
  return counts;
}

Result<std::vector<Job>> MemoryStore::ListJobs(const JobFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  auto it = filter.before ? jobs_.lower_bound(*filter.before) : jobs_.end();
  while (it != jobs_.begin()) {
    const Job& job = (--it)->second.job;
    if (filter.state && job.state != *filter.state) continue;
    if (!filter.project.empty() && job.project != filter.project) continue;
    if (static_cast<int>(jobs.size()) == filter.limit) break;
    jobs.push_back(job);
  }
  return jobs;
}

std::int64_t MemoryStore::CountDue(JobId job) const {
  std::int64_t due = 0;
  const std::int64_t now_us = clock_us_();
  for (const auto& [due_us, item] : tries_.RestsOf(job)) {
    if (due_us > now_us || due == kDueSample) break;
    ++due;
  }
  return due;
}

Result<std::vector<RunnableJob>> MemoryStore::ListRunnable(int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<RunnableJob> runnable;
  std::map<std::string, int> listed;  // of each project
  for (const auto& [id, active] : under_way_) {
    const JobRow& row = *active;
    if (row.job.state != JobState::kActive) continue;
    RunnableJob job{.id = id, .project = row.job.project, .resources = row.job.spec.resources};
    job.retries_due = CountDue(id);
    if (row.chunks.free().empty() && job.retries_due == 0) continue;
    if (++listed[row.job.project] > limit) continue;
    job.resources.memory_bytes = row.job.memory_bytes;
    job.memory_max = row.job.spec.memory_max;
    job.trial = row.job.trial ? row.job.spec.canary : 0;
    job.free_items = row.chunks.FreeInFirst(kFreeSampleChunks);
    runnable.push_back(job);
  }
  return runnable;
}

Result<std::vector<JobId>> MemoryStore::ListSweepable(int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [id, row] : under_way_) {
    const bool finished = MayFinish(row->job) && row->chunks.AllDone();
    if (row->job.state != JobState::kCancelling && !finished) continue;
    if (static_cast<int>(ids.size()) == limit) break;
    ids.push_back(id);
  }
  return ids;
}

Result<std::vector<Chunk>> MemoryStore::ListChunks(JobId id, const ChunkFilter& filter) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  std::vector<Chunk> chunks;
  const JobChunks::Entries& all = row->chunks.all();
  for (auto it = all.lower_bound(filter.from); it != all.end(); ++it) {
    const auto& [stored, tally] = it->second;
    if (filter.state && tally.In(*filter.state) == 0) continue;
    if (static_cast<int>(chunks.size()) == filter.limit) break;
    chunks.push_back(stored.chunk);
  }
  return chunks;
}

Result<ChunkItems> MemoryStore::FindItems(ChunkKey key) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(key.job));
  if (!row->chunks.Has(key.chunk)) return NoSuchChunk(key, row->job.chunks);
  const Chunk& chunk = row->chunks.at(key.chunk).chunk;
  return ChunkItems{chunk.first_item, chunk.length(), row->bodies.at(key.chunk)};
}

Result<std::vector<ChunkStat>> MemoryStore::ListStats(JobId id, std::int32_t from, int limit) {
  const std::lock_guard lock(mutex_);
  return stats_.OfJob(id, from, limit);
}

Result<std::vector<Report>> MemoryStore::ListReports(ChunkKey key) {
  const std::lock_guard lock(mutex_);
  return reports_.Of(key, Bodies::kWith);
}

Result<ChunkHistory> MemoryStore::FindHistory(ChunkKey key) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(key.job));
  if (!row->chunks.Has(key.chunk)) return NoSuchChunk(key, row->job.chunks);
  return ChunkHistory{row->chunks.at(key.chunk).chunk.first_item, reports_.Of(key, Bodies::kWith),
                      stats_.Of(key, Bodies::kWith)};
}

Result<OpenReports> MemoryStore::ListOpenReports(JobId id, int limit) {
  const std::lock_guard lock(mutex_);
  OpenReports open;
  std::int64_t bytes = 0;
  reports_.EachOfJob(id, [&](const Report& report) {
    bytes += std::ssize(report.body);
    open.more = static_cast<int>(open.reports.size()) == limit || bytes > kOpenReportBytes;
    if (open.more) return false;
    const Chunk& chunk = ChunkOf(report.chunk);
    open.reports.push_back({report, chunk.first_item, chunk.round});
    return true;
  });
  return open;
}

Result<std::vector<ListedMachine>> MemoryStore::ListMachines(const MachineFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<ListedMachine> machines;
  const SessionTable::Live& live = sessions_.live();
  for (auto it = live.upper_bound(filter.after); it != live.end(); ++it) {
    const SessionRow& row = *it->second;
    if (!filter.project.empty() && row.session.project != filter.project) continue;
    if (static_cast<int>(machines.size()) == filter.limit) break;
    ListedMachine& machine = machines.emplace_back();
    machine.session = row.session;
    machine.joined_ms = row.joined_us / 1000;
    machine.seen_ms = row.seen_us / 1000;
    machine.status = row.status;
    machine.leases = std::ssize(leases_.OfSession(it->first));
    for (const auto& [job, items] : leases_.OwedBy(it->first)) machine.items += items;
  }
  return machines;
}

}  // namespace tidemill
