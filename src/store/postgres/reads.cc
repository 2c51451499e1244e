// SPDX-License-Identifier: Apache-2.0
// What people and servers ask for. Nothing here locks.
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

// One statement, so that all numbers are of one moment and add up.
const Statement kCountItems{
    "count_items",
    "select " TIDEMILL_JOB_COLUMNS
    ", coalesce(n.total, 0)::bigint, coalesce(n.done, 0)::bigint, coalesce(n.failed, 0)::bigint,"
    " coalesce(n.leased, 0)::bigint, coalesce(n.parked, 0)::bigint from job,"
    " lateral (select sum(length(done)) total, sum(bit_count(done)) done,"
    " sum(bit_count(failed)) failed, sum(bit_count(leased)) leased, sum(bit_count(parked)) parked"
    " from chunk c where c.job_id = job.job_id) n where job_id = $1"};
const Statement kListRunnable{
    "list_runnable",
    "select j.job_id, j.millicpus, j.memory_bytes,"
    " (select sum(bit_count(~ (f.done | f.leased | f.parked))) from"
    "  (select c.done, c.leased, c.parked from chunk c where c.job_id = j.job_id and c.has_free"
    "   order by c.chunk limit $2) f)::bigint"
    " from job j where j.state = 1 and j.state in (1, 2, 4) and exists"
    " (select 1 from chunk c where c.job_id = j.job_id and c.has_free) order by j.job_id limit $1"};
const Statement kListSweepable{
    "list_sweepable",
    "select j.job_id from job j where j.state in (1, 2, 4) and (j.state = 4 or (not j.open"
    " and not exists (select 1 from chunk c where c.job_id = j.job_id and not c.all_done)))"
    " order by j.job_id limit $1"};

namespace {

const Statement kListJobs{"list_jobs", "select " TIDEMILL_JOB_COLUMNS
                                       " from job where job_id < $1 and ($2 < 0 or state = $2)"
                                       " order by job_id desc limit $3"};
const Statement kListChunks{
    "list_chunks",
    "select " TIDEMILL_CHUNK_COLUMNS
    " from chunk c where c.job_id = $1 and c.chunk >= $2 and (case $3 when -1 then true"
    " when 0 then c.has_free when 1 then bit_count(leased) > 0"
    " when 2 then bit_count(done & ~ failed) > 0 when 3 then bit_count(failed) > 0"
    " else bit_count(parked) > 0 end) order by c.chunk limit $4"};
const Statement kFindItems{"find_items",
                           "select c.first_item, length(c.done), coalesce(i.body, '')"
                           " from chunk c left join chunk_items i"
                           " on i.job_id = c.job_id and i.chunk = c.chunk"
                           " where c.job_id = $1 and c.chunk = $2"};
const Statement kListStats{"list_stats", "select " TIDEMILL_STAT_COLUMNS
                                         " from chunk_stat s where s.job_id = $1 and s.chunk >= $2"
                                         " order by s.chunk, s.round limit $3"};
const Statement kListReports{"list_reports", "select " TIDEMILL_REPORT_COLUMNS
                                             " from report r where r.job_id = $1 and r.chunk = $2"
                                             " order by r.lease_id, r.seq"};

}  // namespace

Result<Job> PostgresStore::FindJob(JobId id) {
  TIDEMILL_TRY(const Rows rows, Query(kReadJob, Params().Big(id.number)));
  if (rows.empty()) return NoSuchJob(id);
  return ReadFirst(rows, ReadJob);
}

Result<JobCounts> PostgresStore::CountItems(JobId id) {
  TIDEMILL_TRY(const Rows rows, Query(kCountItems, Params().Big(id.number)));
  if (rows.empty()) return NoSuchJob(id);
  Row row = rows[0];
  const Job job = ReadJob(row);
  Counts counts;
  counts.total = row.Big();
  const std::int64_t done = row.Big();
  counts.failed = row.Big();
  counts.succeeded = done - counts.failed;
  counts.running = row.Big();
  counts.cancelled = row.Big();
  counts.waiting = counts.total - done - counts.running - counts.cancelled;
  return JobCounts{job, counts};
}

Result<std::vector<Job>> PostgresStore::ListJobs(const JobFilter& filter) {
  const std::int64_t before = filter.before ? filter.before->number : INT64_MAX;
  const int state = filter.state ? static_cast<int>(*filter.state) : -1;
  TIDEMILL_TRY(const Rows rows,
               Query(kListJobs, Params().Big(before).Int(state).Int(filter.limit)));
  return ReadAll(rows, ReadJob);
}

Result<std::vector<RunnableJob>> PostgresStore::ListRunnable(int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListRunnable, Params().Int(limit).Int(kFreeSampleChunks)));
  std::vector<RunnableJob> jobs;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    RunnableJob& job = jobs.emplace_back();
    job.id.number = row.Big();
    job.resources.millicpus = row.Big();
    job.resources.memory_bytes = row.Big();
    job.free_items = row.Big();
  }
  return jobs;
}

Result<std::vector<JobId>> PostgresStore::ListSweepable(int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListSweepable, Params().Int(limit)));
  std::vector<JobId> ids;
  for (int i = 0; i < rows.size(); ++i) ids.push_back(JobId{rows[i].Big()});
  return ids;
}

Result<std::vector<Chunk>> PostgresStore::ListChunks(JobId id, const ChunkFilter& filter) {
  TIDEMILL_TRY_VOID(FindJob(id));
  const int state = filter.state ? static_cast<int>(*filter.state) : -1;
  TIDEMILL_TRY(
      const Rows rows,
      Query(kListChunks, Params().Big(id.number).Int(filter.from).Int(state).Int(filter.limit)));
  return ReadAll(rows, ReadChunk);
}

Result<ChunkItems> PostgresStore::FindItems(ChunkKey key) {
  TIDEMILL_TRY(const Rows rows, Query(kFindItems, Params().Big(key.job.number).Int(key.chunk)));
  if (rows.empty()) {
    TIDEMILL_TRY_VOID(FindJob(key.job));
    return NoSuchChunk(key);
  }
  Row row = rows[0];
  ChunkItems items;
  items.first_item = row.Big();
  items.length = row.Int();
  items.body = row.Text();
  return items;
}

Result<std::vector<ChunkStat>> PostgresStore::ListStats(JobId id, std::int32_t from, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListStats, Params().Big(id.number).Int(from).Int(limit)));
  return ReadAll(rows, ReadStat);
}

Result<std::vector<Report>> PostgresStore::ListReports(ChunkKey key) {
  TIDEMILL_TRY(const Rows rows, Query(kListReports, Params().Big(key.job.number).Int(key.chunk)));
  return ReadAll(rows, ReadReport);
}

}  // namespace tidemill
