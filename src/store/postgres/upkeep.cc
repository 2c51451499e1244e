// SPDX-License-Identifier: Apache-2.0
// What a server does beside its calls: rolling up, cleaning up, noticing changes, checking.
#include <map>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

const Statement kLockToRoll{"lock_to_roll",
                            "select " TIDEMILL_CHUNK_COLUMNS
                            " from chunk c where c.over and not c.rolled"
                            " order by c.job_id, c.chunk limit $1 for no key update skip locked"};

namespace {

const Statement kTakeReports{"take_reports",
                             "select " TIDEMILL_REPORT_COLUMNS
                             " from unnest($1, $2) k (job, chunk)"
                             " join report r on r.job_id = k.job and r.chunk = k.chunk"
                             " order by r.job_id, r.chunk, r.lease_id, r.seq"};
const Statement kDropReports{"drop_reports",
                             "delete from report r using unnest($1, $2) k (job, chunk)"
                             " where r.job_id = k.job and r.chunk = k.chunk"};
const Statement kInsertStats{"insert_stats",
                             "insert into chunk_stat (job_id, chunk, round, ended, block, summary)"
                             " select * from unnest($1, $2, $3, $4, $5, $6)"};
const Statement kMarkRolled{"mark_rolled",
                            "update chunk c set rolled = true,"
                            " over_at = case when j.open then clock_timestamp() end,"
                            " over_failed = bit_count(c.failed) > 0"
                            " from unnest($1, $2) k (job, chunk), job j"
                            " where c.job_id = k.job and c.chunk = k.chunk and j.job_id = k.job"};

const Statement kDropDrafts{"drop_drafts",
                            "delete from job where state = 0"
                            " and touched_at < clock_timestamp() - $1 * interval '1 us'"};
const Statement kDropSessions{"drop_sessions",
                              "delete from agent_session where state = 2"
                              " and ended_at < clock_timestamp() - $1 * interval '1 us'"};

const Statement kDropMachines{
    "drop_machines",
    "delete from machine where state = 4 and since < clock_timestamp() - $1 * interval '1 us'"
    " and put_down_until >= since"};

const Statement kReadChange{
    "read_change",
    "select c.seq, clock_timestamp(), p.plan_seq, array_to_string(array("
    "  select job_id from followed where until > clock_timestamp() order by job_id limit $1), ' '),"
    " s.number is not null, " TIDEMILL_ASKED_COLUMNS
    " from leader p, change c left join"
    " (select * from asked_stream where until > clock_timestamp() order by number limit $2) s"
    " on true order by s.number"};
const Statement kFollow{"follow",
                        "insert into followed (job_id, until)"
                        " select job_id, clock_timestamp() + $2 * interval '1 us' from job"
                        " where job_id = $1 on conflict (job_id)"
                        " do update set until = greatest(followed.until, excluded.until)"};
const Statement kFollowSessionsOf{"follow_sessions",
                                  "select distinct session_id from lease where job_id = $1"
                                  " order by session_id limit $2"};
const Statement kDropFollowed{"drop_followed",
                              "delete from followed where until < clock_timestamp()"};

const Statement kDumpSessions{"dump_sessions",
                              "select " TIDEMILL_SESSION_COLUMNS
                              " from agent_session where $1 = 0 or session_id in"
                              " (select l.session_id from lease l where l.job_id = $1)"
                              " order by session_id"};
const Statement kDumpJobs{
    "dump_jobs",
    "select " TIDEMILL_JOB_COLUMNS
    ", packed_items, packed_failed from job where ($1 = 0 or job_id = $1) order by job_id"};
const Statement kDumpChunks{"dump_chunks",
                            "select " TIDEMILL_CHUNK_COLUMNS
                            ", c.rolled from chunk c where c.job_id = $1 order by c.chunk"};
const Statement kDumpLeases{"dump_leases", "select " TIDEMILL_LEASE_COLUMNS
                                           " from lease where job_id = $1 order by lease_id"};
const Statement kDumpTries{"dump_tries", "select " TIDEMILL_TRY_COLUMNS
                                         " from item_try t where t.job_id = $1 order by t.item"};
const Statement kDumpRests{"dump_rests",
                           "select item, chunk, due_at from item_try"
                           " where job_id = $1 and due_at is not null order by item"};
const Statement kDumpReports{"dump_reports",
                             "select r.job_id, r.chunk, r.lease_id, r.seq, r.round, r.kind,"
                             " r.settled, r.ended, case when $2 then r.body else '' end"
                             " from report r where r.job_id = $1 order by r.lease_id, r.seq"};
const Statement kDumpStats{"dump_stats",
                           "select s.job_id, s.chunk, s.round, s.ended,"
                           " case when $2 then s.block else '' end,"
                           " case when $2 then s.summary else '' end"
                           " from chunk_stat s where s.job_id = $1 order by s.chunk, s.round"};

// With nothing but the job itself.
JobDump ReadDump(Row& row) {
  JobDump dump;
  dump.job = ReadJob(row);
  dump.packed.items = row.Big();
  dump.packed.failed = row.Big();
  return dump;
}

Result<void> DumpJob(Transaction& transaction, Bodies bodies, JobDump& dump) {
  const Job& job = dump.job;
  const Params id = Params().Big(job.id.number);
  const Params id_and_bodies = Params(id).Flag(bodies == Bodies::kWith);
  transaction.Send(kDumpChunks, id);
  transaction.Send(kDumpLeases, id);
  transaction.Send(kDumpTries, id);
  transaction.Send(kDumpRests, id);
  transaction.Send(kDumpReports, id_and_bodies);
  transaction.Send(kDumpStats, id_and_bodies);
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
  dump.chunks = ReadAll(answers[0], [](Row& row) {
    const Chunk chunk = ReadChunk(row);
    return StoredChunk{chunk, row.Flag()};
  });
  dump.leases = ReadAll(answers[1], ReadLease);
  dump.tries = ReadAll(answers[2], ReadTry);
  dump.rests = ReadAll(answers[3], [](Row& row) {
    Rest rest;
    rest.item = row.Big();
    rest.chunk = row.Int();
    rest.due_us = row.Time();
    return rest;
  });
  dump.reports = ReadAll(answers[4], ReadReport);
  dump.stats = ReadAll(answers[5], ReadStat);
  return {};
}

}  // namespace

Result<RolledUp> PostgresStore::RollUp(int limit, const RollUpMaker& make) {
  return Transact<RolledUp>([&](Transaction& transaction) -> Result<RolledUp> {
    TIDEMILL_TRY(const Rows rows, transaction.One(kLockToRoll, Params().Int(limit)));
    if (rows.empty()) return RolledUp{};
    const std::vector<Chunk> chunks = ReadAll(rows, ReadChunk);
    std::vector<ChunkKey> keys;
    for (const Chunk& chunk : chunks) keys.push_back(chunk.key);
    TIDEMILL_TRY(const Rows report_rows, transaction.One(kTakeReports, ChunkKeys(keys)));
    std::map<ChunkKey, std::vector<Report>> reports;
    for (Report& report : ReadAll(report_rows, ReadReport)) {
      reports[report.chunk].push_back(std::move(report));
    }
    std::vector<std::int32_t> rounds;
    std::vector<Bits> ended;
    std::vector<RollUpText> texts;
    for (const Chunk& chunk : chunks) {
      Bits bits(chunk.length());
      for (const Report& report : reports[chunk.key]) bits |= report.ended;
      rounds.push_back(chunk.round);
      ended.push_back(bits);
      texts.push_back(make(chunk, reports[chunk.key]));
    }
    std::vector<std::string_view> blocks, summaries;
    for (const RollUpText& text : texts) {
      blocks.push_back(text.block);
      summaries.push_back(text.summary);
    }
    transaction.Send(kDropReports, ChunkKeys(keys));
    transaction.Send(
        kInsertStats,
        ChunkKeys(keys).Ints(rounds).BitStrings(ended).BytesList(blocks).BytesList(summaries));
    transaction.Send(kMarkRolled, ChunkKeys(keys));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
    // The chunks are locked, so nobody can have added a report that was not read.
    if (answers[0].touched() != report_rows.size()) {
      return Fail(Code::kInternal, "a report was added to a chunk that is rolled up");
    }
    TIDEMILL_TRY(const auto committed, transaction.Commit());
    return RolledUp{static_cast<std::int32_t>(chunks.size()), answers[0].touched()};
  });
}

Result<std::int64_t> PostgresStore::DropStale(Duration age) {
  return Transact<std::int64_t>([&](Transaction& transaction) -> Result<std::int64_t> {
    transaction.Send(kDropDrafts, Params().Big(age.count()));
    transaction.Send(kDropSessions, Params().Big(age.count()));
    transaction.Send(kDropFollowed);
    transaction.Send(kDropAsked);
    transaction.Send(kDropMachines, Params().Big(age.count()));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    return answers[0].touched() + answers[1].touched();
  });
}

Result<ChangeMark> PostgresStore::ReadChange() {
  TIDEMILL_TRY(const Rows rows, Query(kReadChange, Params().Big(kFollowedJobs).Big(kAskedStreams)));
  ChangeMark mark;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    mark.seq = row.Big();
    mark.clock_us = row.Time();
    mark.plan_seq = row.Big();
    mark.followed = ParseJobIds(row.Text());
    if (row.Flag()) mark.streams.push_back(ReadAsked(row));
  }
  return mark;
}

Result<std::vector<SessionId>> PostgresStore::Follow(JobId id, Duration time) {
  return Transact<std::vector<SessionId>>(
      [&](Transaction& transaction) -> Result<std::vector<SessionId>> {
        transaction.Send(kFollow, Params().Big(id.number).Big(time.count()));
        transaction.Send(kFollowSessionsOf, Params().Big(id.number).Big(kFollowSessions));
        TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
        if (answers[0].touched() == 0) return Fail(Code::kNotFound, "no such job");
        return ReadAll(answers[1], [](Row row) { return row.Uuid<SessionId>(); });
      });
}

Result<void> PostgresStore::Announce() {
  TIDEMILL_TRY_VOID(Query(kBumpChange));
  return {};
}

Result<StoreState> PostgresStore::Dump(std::optional<JobId> only, Bodies bodies) {
  return Transact<StoreState>([&](Transaction& transaction) -> Result<StoreState> {
    transaction.ReadOnly();
    const Params which = Params().Big(only ? only->number : 0);
    transaction.Send(kDumpSessions, which);
    transaction.Send(kDumpJobs, which);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
    StoreState state;
    state.sessions = ReadAll(answers[0], ReadSession);
    state.jobs = ReadAll(answers[1], ReadDump);
    for (JobDump& dump : state.jobs) TIDEMILL_TRY_VOID(DumpJob(transaction, bodies, dump));
    return state;
  });
}

}  // namespace tidemill
