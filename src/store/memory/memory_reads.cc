// SPDX-License-Identifier: Apache-2.0
// What people and servers ask for. Nothing here changes anything.
#include <algorithm>
#include <tuple>

#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

Result<Job> MemoryStore::FindJob(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  return row->job;
}

Counts MemoryStore::JobRow::Count() const {
  Counts counts;
  for (const StoredChunk& stored : chunks) {
    const Chunk& chunk = stored.chunk;
    counts.total += chunk.length();
    counts.succeeded += ItemsIn(chunk, ItemState::kSucceeded).Count();
    counts.failed += ItemsIn(chunk, ItemState::kFailed).Count();
    counts.running += ItemsIn(chunk, ItemState::kRunning).Count();
    counts.waiting += ItemsIn(chunk, ItemState::kWaiting).Count();
    counts.cancelled += ItemsIn(chunk, ItemState::kCancelled).Count();
  }
  return counts;
}

Result<JobCounts> MemoryStore::CountItems(JobId id) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  return JobCounts{row->job, row->Count()};
}

Result<std::vector<JobCounts>> MemoryStore::CountJobs(const std::vector<JobId>& ids) {
  const std::lock_guard lock(mutex_);
  std::vector<JobCounts> counts;
  for (const JobId id : ids) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    counts.push_back({found->second.job, found->second.Count()});
  }
  return counts;
}

Result<std::vector<Job>> MemoryStore::ListJobs(const JobFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    const Job& job = it->second.job;
    if (filter.before && job.id >= *filter.before) continue;
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
  for (auto it = tries_.lower_bound({job, 0}); it != tries_.end() && it->first.first == job; ++it) {
    if (it->second.due_us && *it->second.due_us <= now_us && due < kDueSample) ++due;
  }
  return due;
}

Result<std::vector<RunnableJob>> MemoryStore::ListRunnable(int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<RunnableJob> runnable;
  std::map<std::string, int> listed;  // of each project
  for (const auto& [id, row] : jobs_) {
    if (row.job.state != JobState::kActive) continue;
    RunnableJob job{.id = id, .project = row.job.project, .resources = row.job.spec.resources};
    job.retries_due = CountDue(id);
    if (!row.AnyFree() && job.retries_due == 0) continue;
    if (++listed[row.job.project] > limit) continue;
    job.resources.memory_bytes = row.job.memory_bytes;
    job.memory_max = row.job.spec.memory_max;
    job.trial = row.job.trial ? row.job.spec.canary : 0;
    int left = kFreeSampleChunks;
    for (const StoredChunk& stored : row.chunks) {
      if (stored.chunk.Free().None()) continue;
      if (left-- == 0) break;
      job.free_items += stored.chunk.Free().Count();
    }
    runnable.push_back(job);
  }
  return runnable;
}

Result<std::vector<JobId>> MemoryStore::ListSweepable(int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [id, row] : jobs_) {
    const bool finished = MayFinish(row.job) && row.AllDone();
    if (row.job.state != JobState::kCancelling && !finished) continue;
    if (static_cast<int>(ids.size()) == limit) break;
    ids.push_back(id);
  }
  return ids;
}

Result<std::vector<Chunk>> MemoryStore::ListChunks(JobId id, const ChunkFilter& filter) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(id));
  std::vector<Chunk> chunks;
  for (const StoredChunk& stored : row->chunks) {
    if (stored.chunk.key.chunk < filter.from) continue;
    if (filter.state && ItemsIn(stored.chunk, *filter.state).None()) continue;
    if (static_cast<int>(chunks.size()) == filter.limit) break;
    chunks.push_back(stored.chunk);
  }
  return chunks;
}

Result<ChunkItems> MemoryStore::FindItems(ChunkKey key) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(key.job));
  if (key.chunk < 0 || key.chunk >= row->job.chunks) return NoSuchChunk(key);
  const Chunk& chunk = row->chunks[key.chunk].chunk;
  return ChunkItems{chunk.first_item, chunk.length(), row->bodies[key.chunk]};
}

Result<std::vector<ChunkStat>> MemoryStore::ListStats(JobId id, std::int32_t from, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<ChunkStat> stats;
  for (const auto& [key, stat] : stats_) {
    if (stat.chunk.job != id || stat.chunk.chunk < from) continue;
    if (static_cast<int>(stats.size()) == limit) break;
    stats.push_back(stat);
  }
  return stats;
}

Result<std::vector<Report>> MemoryStore::ListReports(ChunkKey key) {
  const std::lock_guard lock(mutex_);
  std::vector<Report> reports;
  for (const auto& [id, report] : reports_) {
    if (report.chunk == key) reports.push_back(report);
  }
  return reports;
}

Result<ChunkHistory> MemoryStore::FindHistory(ChunkKey key) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(JobRow * row, Row(key.job));
  if (key.chunk < 0 || key.chunk >= row->job.chunks) return NoSuchChunk(key);
  ChunkHistory history;
  history.first_item = row->chunks[key.chunk].chunk.first_item;
  for (const auto& [id, report] : reports_) {
    if (report.chunk == key) history.reports.push_back(report);
  }
  for (const auto& [id, stat] : stats_) {
    if (stat.chunk == key) history.stats.push_back(stat);
  }
  return history;
}

Result<OpenReports> MemoryStore::ListOpenReports(JobId id, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<const Report*> reports;
  for (const auto& [key, report] : reports_) {
    if (report.chunk.job == id) reports.push_back(&report);
  }
  std::sort(reports.begin(), reports.end(), [](const Report* a, const Report* b) {
    return std::tie(a->chunk, a->lease, a->seq) > std::tie(b->chunk, b->lease, b->seq);
  });
  OpenReports open;
  std::int64_t bytes = 0;
  for (const Report* report : reports) {
    bytes += static_cast<std::int64_t>(report->body.size());
    if (static_cast<int>(open.reports.size()) == limit || bytes > kOpenReportBytes) {
      open.more = true;
      break;
    }
    const Chunk& chunk = jobs_.at(id).chunks[report->chunk.chunk].chunk;
    open.reports.push_back({*report, chunk.first_item, chunk.round});
  }
  return open;
}

Result<std::vector<ListedMachine>> MemoryStore::ListMachines(const MachineFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<ListedMachine> machines;
  for (const auto& [id, row] : sessions_) {
    if (id <= filter.after || row.session.state == SessionState::kDead) continue;
    if (!filter.project.empty() && row.session.project != filter.project) continue;
    if (static_cast<int>(machines.size()) == filter.limit) break;
    ListedMachine& machine = machines.emplace_back();
    machine.session = row.session;
    machine.joined_ms = row.joined_us / 1000;
    machine.seen_ms = row.seen_us / 1000;
    machine.status = row.status;
    for (const auto& [lease_id, lease] : leases_) {
      if (lease.session != id) continue;
      ++machine.leases;
      machine.items += lease.mine.Count();
    }
  }
  return machines;
}

}  // namespace tidemill
