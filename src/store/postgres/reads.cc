// SPDX-License-Identifier: Apache-2.0
// What people and servers ask for. Nothing here locks.
#include <map>
#include <utility>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/postgres/status.h"
#include "store/retries.h"
#include "store/rules.h"

namespace tidemill {

// One statement, so that all numbers are of one moment and add up.
const Statement kCountItems{
    "count_items",
    "select " TIDEMILL_JOB_COLUMNS
    ", coalesce(n.total, 0)::bigint + packed_items, coalesce(n.done, 0)::bigint + packed_items,"
    " coalesce(n.failed, 0)::bigint + packed_failed,"
    " coalesce(n.leased, 0)::bigint, coalesce(n.parked, 0)::bigint from job,"
    " lateral (select sum(length(done)) total, sum(bit_count(done)) done,"
    " sum(bit_count(failed)) failed, sum(bit_count(leased)) leased, sum(bit_count(parked)) parked"
    " from chunk c where c.job_id = job.job_id) n where job_id = any ($1)"};
// So many of each project: a project whose jobs nobody can run must not hide those of others.
const Statement kListRunnable{
    "list_runnable",
    "select j.job_id, j.project, j.millicpus, j.memory_now, j.devices, j.memory_max,"
    " case when j.trial then j.canary else 0 end,"
    " coalesce((select sum(bit_count(~ (f.done | f.leased | f.parked | f.resting))) from"
    "  (select c.done, c.leased, c.parked, c.resting from chunk c"
    "   where c.job_id = j.job_id and c.has_free order by c.chunk limit $2) f), 0)::bigint,"
    " (select count(*) from (select 1 from item_try t where t.job_id = j.job_id"
    "   and t.due_at <= (select clock_timestamp()) limit $3) d)"
    " from (select distinct project from job where state = 1 and state in (1, 2, 4)) p,"
    " lateral (select * from job r where r.project = p.project and r.state = 1"
    "  and r.state in (1, 2, 4) and (exists"
    "  (select 1 from chunk c where c.job_id = r.job_id and c.has_free) or exists"
    "  (select 1 from item_try t where t.job_id = r.job_id"
    "   and t.due_at <= (select clock_timestamp())))"
    "  order by r.job_id limit $1) j order by j.job_id"};
const Statement kListSweepable{
    "list_sweepable",
    "select j.job_id from job j where j.state in (1, 2, 4) and (j.state = 4 or (not j.open"
    " and not exists (select 1 from chunk c where c.job_id = j.job_id and not c.all_done)))"
    " order by j.job_id limit $1"};

// The bytes up to a row are counted without reading its body, which is stored outside of it.
const Statement kListOpenReports{
    "list_open_reports",
    "select " TIDEMILL_REPORT_COLUMNS
    ", c.first_item, c.round, r.fits from"
    " (select o.job_id, o.chunk, o.lease_id, o.seq, o.round, o.kind, o.settled, o.ended,"
    "  o.bytes <= $3 fits, case when o.bytes <= $3 then o.body else '' end body from"
    "  (select n.*, sum(octet_length(n.body)) over"
    "   (order by n.chunk desc, n.lease_id desc, n.seq desc) bytes from"
    "   (select * from report where job_id = $1"
    "    order by chunk desc, lease_id desc, seq desc limit $2) n) o) r"
    " join chunk c on c.job_id = r.job_id and c.chunk = r.chunk"
    " order by r.chunk desc, r.lease_id desc, r.seq desc"};
const Statement kListMachines{
    "list_machines",
    "select " TIDEMILL_SESSION_COLUMNS
    ", joined_at, seen_at, coalesce(status, ''), n.leases, n.items from agent_session s,"
    " lateral (select count(*) leases, coalesce(sum(bit_count(l.mine)), 0)::bigint items"
    " from lease l where l.session_id = s.session_id) n"
    " where s.state < 2 and s.session_id > $1 and ($3 = '' or s.project = $3)"
    " order by s.session_id limit $2"};

namespace {

const Statement kListJobs{"list_jobs", "select " TIDEMILL_JOB_COLUMNS
                                       " from job where job_id < $1 and ($2 < 0 or state = $2)"
                                       " order by job_id desc limit $3"};
const Statement kListJobsOf{"list_jobs_of",
                            "select " TIDEMILL_JOB_COLUMNS
                            " from job where project = $4 and job_id < $1"
                            " and ($2 < 0 or state = $2) order by job_id desc limit $3"};
const Statement kListChunks{
    "list_chunks",
    "select " TIDEMILL_CHUNK_COLUMNS
    " from chunk c where c.job_id = $1 and c.chunk >= $2 and (case $3 when -1 then true"
    " when 0 then bit_count(~ (done | leased | parked)) > 0"
    " when 1 then bit_count(leased) > 0"
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

const Statement kFirstItem{"first_item",
                           "select first_item from chunk where job_id = $1 and chunk = $2"};
const Statement kStatsOfChunk{"stats_of_chunk",
                              "select " TIDEMILL_STAT_COLUMNS
                              " from chunk_stat s where s.job_id = $1 and s.chunk = $2"
                              " order by s.round"};

JobCounts ReadCounts(Row& row) {
  JobCounts shown;
  shown.job = ReadJob(row);
  Counts& counts = shown.counts;
  counts.total = row.Big();
  const std::int64_t done = row.Big();
  counts.failed = row.Big();
  counts.succeeded = done - counts.failed;
  counts.running = row.Big();
  counts.cancelled = row.Big();
  counts.waiting = counts.total - done - counts.running - counts.cancelled;
  return shown;
}

ListedMachine ReadMachine(Row& row) {
  ListedMachine machine;
  machine.session = ReadSession(row);
  machine.joined_ms = row.Time() / 1000;
  machine.seen_ms = row.Time() / 1000;
  machine.status = UnpackStatus(row.Text());
  machine.leases = row.Big();
  machine.items = row.Big();
  return machine;
}

}  // namespace

Result<Job> PostgresStore::FindJob(JobId id) {
  TIDEMILL_TRY(const Rows rows, Query(kReadJob, Params().Big(id.number)));
  if (rows.empty()) return NoSuchJob(id);
  return ReadFirst(rows, ReadJob);
}

Result<std::vector<JobCounts>> PostgresStore::CountJobs(const std::vector<JobId>& ids) {
  std::vector<std::int64_t> numbers;
  for (const JobId id : ids) numbers.push_back(id.number);
  TIDEMILL_TRY(const Rows rows, Query(kCountItems, Params().Bigs(numbers)));
  std::map<JobId, JobCounts> found;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    JobCounts counted = ReadCounts(row);
    const JobId id = counted.job.id;
    found.emplace(id, std::move(counted));
  }
  std::vector<JobCounts> counts;
  for (const JobId id : ids) {
    if (found.contains(id)) counts.push_back(found.at(id));
  }
  return counts;
}

Result<JobCounts> PostgresStore::CountItems(JobId id) {
  TIDEMILL_TRY(const std::vector<JobCounts> counts, CountJobs({id}));
  if (counts.empty()) return NoSuchJob(id);
  return counts[0];
}

Result<std::vector<Job>> PostgresStore::ListJobs(const JobFilter& filter) {
  const std::int64_t before = filter.before ? filter.before->number : INT64_MAX;
  const int state = filter.state ? static_cast<int>(*filter.state) : -1;
  Params params;
  params.Big(before).Int(state).Int(filter.limit);
  if (!filter.project.empty()) params.Text(filter.project);
  TIDEMILL_TRY(const Rows rows, Query(filter.project.empty() ? kListJobs : kListJobsOf, params));
  return ReadAll(rows, ReadJob);
}

Result<std::vector<RunnableJob>> PostgresStore::ListRunnable(int limit) {
  TIDEMILL_TRY(const Rows rows,
               Query(kListRunnable, Params().Int(limit).Int(kFreeSampleChunks).Int(kDueSample)));
  std::vector<RunnableJob> jobs;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    RunnableJob& job = jobs.emplace_back();
    job.id.number = row.Big();
    job.project = row.Text();
    job.resources.millicpus = row.Big();
    job.resources.memory_bytes = row.Big();
    job.resources.devices = ParseDevices(row.Text()).value_or(Devices());
    job.memory_max = row.Big();
    job.trial = row.Int();
    job.free_items = row.Big();
    job.retries_due = row.Big();
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
    TIDEMILL_TRY(const Job job, FindJob(key.job));
    return NoSuchChunk(key, job.chunks);
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

Result<ChunkHistory> PostgresStore::FindHistory(ChunkKey key) {
  return Transact<ChunkHistory>([&](Transaction& transaction) -> Result<ChunkHistory> {
    transaction.ReadOnly();
    const Params which = Params().Big(key.job.number).Int(key.chunk);
    transaction.Send(kReadJob, Params().Big(key.job.number));
    transaction.Send(kFirstItem, which);
    transaction.Send(kListReports, which);
    transaction.Send(kStatsOfChunk, which);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
    if (answers[0].empty()) return NoSuchJob(key.job);
    if (answers[1].empty()) return NoSuchChunk(key, ReadFirst(answers[0], ReadJob).chunks);
    ChunkHistory history;
    history.first_item = answers[1][0].Big();
    history.reports = ReadAll(answers[2], ReadReport);
    history.stats = ReadAll(answers[3], ReadStat);
    return history;
  });
}

Result<OpenReports> PostgresStore::ListOpenReports(JobId id, int limit) {
  // One more tells whether there are more.
  TIDEMILL_TRY(
      const Rows rows,
      Query(kListOpenReports, Params().Big(id.number).Int(limit + 1).Big(kOpenReportBytes)));
  OpenReports open;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    OpenReport report;
    report.report = ReadReport(row);
    report.first_item = row.Big();
    report.chunk_round = row.Int();
    if (i == limit || !row.Flag()) {
      open.more = true;
      break;
    }
    open.reports.push_back(std::move(report));
  }
  return open;
}

Result<std::vector<ListedMachine>> PostgresStore::ListMachines(const MachineFilter& filter) {
  TIDEMILL_TRY(
      const Rows rows,
      Query(kListMachines, Params().Uuid(filter.after).Int(filter.limit).Text(filter.project)));
  return ReadAll(rows, ReadMachine);
}

}  // namespace tidemill
