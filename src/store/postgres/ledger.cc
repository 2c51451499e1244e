// SPDX-License-Identifier: Apache-2.0
// What of the jobs' records is in the object store.
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"

namespace tidemill {
namespace {

const Statement kListLedgerJobs{
    "list_ledger_jobs",
    "select " TIDEMILL_JOB_COLUMNS
    ", ledger_chunks, ledger_state >= 0,"
    " not exists (select 1 from chunk_stat s where s.job_id = job.job_id and not s.ledgered)"
    " and not exists (select 1 from chunk c where c.job_id = job.job_id and c.over and not "
    "c.rolled)"
    " from job where job_id > $1 and state <> 0"
    " and (ledger_chunks < chunks or ledger_state <> state or ledger_round <> round)"
    " order by job_id limit $2"};
const Statement kListLedgerStats{"list_ledger_stats",
                                 "select " TIDEMILL_STAT_COLUMNS
                                 " from chunk_stat s where not s.ledgered"
                                 " order by s.job_id, s.chunk, s.round limit $1"};

const Statement kMarkLedgerItems{"mark_ledger_items",
                                 "update job set ledger_chunks = $2"
                                 " where job_id = $1 and ledger_chunks < $2"};
const Statement kMarkLedgerState{"mark_ledger_state",
                                 "update job set ledger_state = $2, ledger_round = $3"
                                 " where job_id = $1"};
const Statement kMarkLedgerStat{
    "mark_ledger_stat",
    "update chunk_stat set ledgered = true from unnest($4) k (ended)"
    " where job_id = $1 and chunk = $2 and round = $3 and chunk_stat.ended = k.ended"};

}  // namespace

Result<std::vector<LedgerJob>> PostgresStore::ListLedgerJobs(JobId after, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListLedgerJobs, Params().Big(after.number).Int(limit)));
  return ReadAll(rows, [](Row& row) {
    LedgerJob due;
    due.job = ReadJob(row);
    due.chunks_written = row.Int();
    due.begun = row.Flag();
    due.settled = row.Flag();
    return due;
  });
}

Result<void> PostgresStore::MarkLedgerItems(JobId id, std::int32_t chunks) {
  TIDEMILL_TRY_VOID(Query(kMarkLedgerItems, Params().Big(id.number).Int(chunks)));
  return {};
}

Result<void> PostgresStore::MarkLedgerState(JobId id, JobState state, std::int32_t round) {
  TIDEMILL_TRY_VOID(Query(
      kMarkLedgerState, Params().Big(id.number).Int(static_cast<std::int32_t>(state)).Int(round)));
  return {};
}

Result<std::vector<ChunkStat>> PostgresStore::ListLedgerStats(int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListLedgerStats, Params().Int(limit)));
  return ReadAll(rows, ReadStat);
}

Result<void> PostgresStore::MarkLedgerStat(const ChunkStat& stat) {
  TIDEMILL_TRY_VOID(Query(kMarkLedgerStat, Params()
                                               .Big(stat.chunk.job.number)
                                               .Int(stat.chunk.chunk)
                                               .Int(stat.round)
                                               .BitStrings({stat.ended})));
  return {};
}

}  // namespace tidemill
