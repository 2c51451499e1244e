// SPDX-License-Identifier: Apache-2.0
// Sessions begin, drain, and end when nobody has heard of them for too long.
#include <map>
#include <set>

#include "model/machine_name.h"
#include "model/token.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

// A statement of its own: it sees the leases of an exchange that held a session until just now.
const Statement kLockLeasesOfSessions{"lock_leases_of_sessions",
                                      "select " TIDEMILL_LEASE_COLUMNS
                                      " from lease where session_id = any ($1)"
                                      " order by lease_id for no key update"};

const Statement kLockExpired{"lock_expired",
                             "select session_id from agent_session"
                             " where state < 2 and expires_at < clock_timestamp()"
                             " order by session_id limit $1 for no key update skip locked"};

const Statement kListRecords{
    "list_records",
    "select session_id, project, pool, attempts, blamed, aside <> '' from agent_session"
    " where state < 2 and project = any (array(select distinct b.project from agent_session b"
    " where b.state < 2 and b.blamed > 0)) order by session_id"};

// The leases of a session are few, those of a job many thousands and mostly dead rows: written so,
// only the session's are ever looked at.
const Statement kCheckPass{
    "check_pass",
    "select " TIDEMILL_SESSION_COLUMNS
    ", token, next_token, (extract(epoch from clock_timestamp() - token_at) * 1000000)::bigint,"
    " $2 = 0 or coalesce((select bool_or(l.job_id = $2) from lease l"
    " where l.session_id = s.session_id), false)"
    " from agent_session s where s.session_id = $1 and s.state < 2"};

namespace {

// Two joins under one name come one after the other: rows that are not there yet cannot be locked.
const Statement kLockName{
    "lock_name", "select pg_advisory_xact_lock(hashtextextended($1 || '/' || $2 || '/' || $3, 0))"};
const Statement kFindSession{"find_session",
                             "select " TIDEMILL_SESSION_COLUMNS
                             ", machine_key, token = '' from agent_session where session_id = $1"
                             " for no key update"};
// Ordered, as all locks of sessions are.
const Statement kLockSameMachine{"lock_same_machine",
                                 "select session_id, machine_key from agent_session"
                                 " where project = $1 and pool = $2 and machine = $3 and state < 2"
                                 " order by session_id for no key update"};
// On a machine that drains, or is about to be ended, a new session drains from the beginning.
const Statement kInsertSession{
    "insert_session",
    "insert into agent_session (session_id, machine, project, pool, millicpus, memory_bytes,"
    " expires_at, machine_key, token, address, devices, state)"
    " select $1, $2, $3, $4, $5, $6, clock_timestamp() + $7 * interval '1 us', $8, $9, $10, $11,"
    " case when exists (select 1 from machine m where m.project = $3 and m.pool = $4"
    " and m.number = $12 and m.ordered and m.state < 4 and (m.ending or m.state = 3))"
    " then 1 else 0 end on conflict (session_id) do nothing returning state"};
const Statement kOfferToken{"offer_token",
                            "update agent_session set next_token = $2 where session_id = $1"};
// Nothing is taken from it any more, and the reaper does the rest.
const Statement kEndByAnother{"end_by_another",
                              "update agent_session set token = '', next_token = '',"
                              " expires_at = least(expires_at, clock_timestamp() - interval '1 us')"
                              " where session_id = any ($1)"};
const Statement kDrain{"drain_session",
                       "update agent_session set state = 1 where session_id = $1 and state < 2"
                       " and ($2 = '' or project = $2)"};
const Statement kPutAside{
    "put_aside",
    "update agent_session set state = 1, aside = $2 where session_id = $1 and state < 2"};
// Nobody says how long those had run that were lost without a word: about half of what an item
// takes, in each slot that was in use.
const Statement kHearLost{
    "hear_lost",
    "insert into job_time (job_id, server, items, seconds, squares, lost_seconds)"
    " select l.job_id, 'reaper', 0, 0, 0, sum(least(extract(epoch from clock_timestamp()"
    " - l.granted_at), t.mean / 2)::double precision * least(bit_count(l.mine),"
    " greatest(a.millicpus / greatest(j.millicpus, 1), 1)))"
    " from lease l join agent_session a on a.session_id = l.session_id"
    " join job j on j.job_id = l.job_id left join lateral"
    " (select sum(h.seconds) / nullif(sum(h.items), 0) mean from job_time h"
    "  where h.job_id = l.job_id) t on true"
    " where l.session_id = any ($1) group by l.job_id order by l.job_id"
    " on conflict (job_id, server)"
    " do update set lost_seconds = job_time.lost_seconds + excluded.lost_seconds"};
const Statement kDropLeases{"drop_leases", "delete from lease where session_id = any ($1)"};
const Statement kCountLosses{
    "count_losses",
    "insert into item_try as t (job_id, item, chunk, lost)"
    " select k.job, k.item, k.chunk, 2 from unnest($1, $2, $3) k (job, item, chunk)"
    " order by k.job, k.item"
    " on conflict (job_id, item) do update set lost = greatest(t.lost, 1) + 1"
    " returning t.job_id, t.item, t.lost"};
const Statement kRestAgain{"rest_again",
                           "update item_try t set due_at = (select clock_timestamp())"
                           " from unnest($1, $2) k (job, item)"
                           " where t.job_id = k.job and t.item = k.item"};
const Statement kInsertLostReports{
    "insert_lost_reports",
    "insert into report (job_id, chunk, lease_id, seq, round, kind, settled, ended, body)"
    " select k.job, k.chunk, k.lease, $6, k.round, 1, k.ended, k.ended, ''"
    " from unnest($1, $2, $3, $4, $5) k (job, chunk, lease, round, ended)"};

// The leases of sessions that are being reaped, and what becomes of their items.
class LostLeases {
 public:
  LostLeases(Transaction& transaction, std::vector<Lease> leases)
      : transaction_(transaction), leases_(std::move(leases)) {}

  Result<void> Lose(Reaped& reaped) {
    TIDEMILL_TRY_VOID(LockChunks());
    TIDEMILL_TRY_VOID(Count());
    std::set<JobId> jobs;
    std::vector<const Chunk*> written;
    for (const Lease& lease : leases_) {
      Chunk& chunk = chunks_.at(lease.chunk);
      Bits exhausted(chunk.length());
      for (const int offset : lease.mine.Indexes()) {
        if (exhausted_.contains({chunk.key.job, chunk.first_item + offset})) exhausted.Set(offset);
      }
      const Bits ended = ApplyLoss(chunk, LossesOf(chunk, lease.mine), exhausted, lease.tried);
      if (lease.tried) NoteRests(chunk, lease.mine - ended);
      if (ended.Any()) reports_.push_back({&lease, ended});
      reaped.items_lost += lease.mine.Count();
      reaped.items_failed += ended.Count();
      jobs.insert(lease.chunk.job);
    }
    for (const auto& [key, chunk] : chunks_) written.push_back(&chunk);
    transaction_.Send(kWriteChunks, ChunkPlanes(written));
    if (!rest_items_.empty()) {
      transaction_.Send(kRestAgain, Params().Bigs(rest_jobs_).Bigs(rest_items_));
    }
    SendReports();
    reaped.jobs.assign(jobs.begin(), jobs.end());
    return {};
  }

 private:
  Result<void> LockChunks() {
    std::set<ChunkKey> keys;
    for (const Lease& lease : leases_) keys.insert(lease.chunk);
    TIDEMILL_TRY(
        const Rows rows,
        transaction_.One(kLockChunks, ChunkKeys(std::vector<ChunkKey>(keys.begin(), keys.end()))));
    for (const Chunk& chunk : ReadAll(rows, ReadChunk)) chunks_.emplace(chunk.key, chunk);
    return MustAgree(leases_, chunks_);
  }

  void NoteRests(const Chunk& chunk, const Bits& items) {
    for (const int offset : items.Indexes()) {
      rest_jobs_.push_back(chunk.key.job.number);
      rest_items_.push_back(chunk.first_item + offset);
    }
  }

  // Only items that were lost before have a count; the first loss is a bit.
  Result<void> Count() {
    std::vector<std::int64_t> jobs, items;
    std::vector<std::int32_t> chunks;
    for (const Lease& lease : leases_) {
      const Chunk& chunk = chunks_.at(lease.chunk);
      const LossMasks masks = LossesOf(chunk, lease.mine);
      for (const int offset : (masks.twice | masks.more).Indexes()) {
        jobs.push_back(chunk.key.job.number);
        items.push_back(chunk.first_item + offset);
        chunks.push_back(chunk.key.chunk);
      }
    }
    if (items.empty()) return {};
    TIDEMILL_TRY(const Rows rows,
                 transaction_.One(kCountLosses, Params().Bigs(jobs).Bigs(items).Ints(chunks)));
    for (int i = 0; i < rows.size(); ++i) {
      Row row = rows[i];
      const JobId job{row.Big()};
      const std::int64_t item = row.Big();
      if (row.Int() >= limits::kMaxLost) exhausted_.emplace(job, item);
    }
    return {};
  }

  void SendReports() {
    if (reports_.empty()) return;
    std::vector<ChunkKey> keys;
    std::vector<LeaseId> leases;
    std::vector<std::int32_t> rounds;
    std::vector<Bits> ended;
    for (const auto& [lease, bits] : reports_) {
      keys.push_back(lease->chunk);
      leases.push_back(lease->id);
      rounds.push_back(lease->round);
      ended.push_back(bits);
    }
    Params params = ChunkKeys(keys);
    params.Uuids(leases).Ints(rounds).BitStrings(ended).Int(kReaperSeq);
    transaction_.Send(kInsertLostReports, params);
  }

  Transaction& transaction_;
  const std::vector<Lease> leases_;
  std::map<ChunkKey, Chunk> chunks_;
  std::set<std::pair<JobId, std::int64_t>> exhausted_;
  std::vector<std::pair<const Lease*, Bits>> reports_;
  std::vector<std::int64_t> rest_jobs_, rest_items_;
};

}  // namespace

Result<Session> PostgresStore::Join(const NewSession& session) {
  const std::string key = HashToken(session.machine_key);
  return Transact<Session>([&](Transaction& transaction) -> Result<Session> {
    const Params id = Params().Uuid(session.id);
    const Params name = Params().Text(session.project).Text(session.pool).Text(session.machine);
    TIDEMILL_TRY_VOID(transaction.One(kLockName, name));
    TIDEMILL_TRY(const Rows known, transaction.One(kFindSession, id));
    if (!known.empty()) {
      Row row = known[0];
      Session found = ReadSession(row);
      if (row.Text() != key || !IsSamePlace(found, session))
        return OtherMachineKey(session.machine);
      // The reaper is yet to come to one that its machine has left for another.
      if (row.Flag()) found.state = SessionState::kDead;
      if (found.state == SessionState::kDead) return found;
      transaction.Send(kOfferToken, Params().Uuid(session.id).Bytes(HashToken(session.token)));
      TIDEMILL_TRY(const auto committed, transaction.Commit());
      return found;
    }
    TIDEMILL_TRY(const Rows same, transaction.One(kLockSameMachine, name));
    std::vector<SessionId> others;
    for (int i = 0; i < same.size(); ++i) {
      Row row = same[i];
      others.push_back(row.Uuid<SessionId>());
      if (row.Text() != key) return OtherMachineKey(session.machine);
    }
    if (!others.empty()) transaction.Send(kEndByAnother, Params().Uuids(others));
    const std::optional<std::int64_t> number = MachineNumber(session.pool, session.machine);
    transaction.Send(kInsertSession, Params()
                                         .Uuid(session.id)
                                         .Text(session.machine)
                                         .Text(session.project)
                                         .Text(session.pool)
                                         .Big(session.shape.millicpus)
                                         .Big(session.shape.memory_bytes)
                                         .Big(session.life.count())
                                         .Bytes(key)
                                         .Bytes(HashToken(session.token))
                                         .Text(session.address)
                                         .Text(FormatDevices(session.shape.devices))
                                         .Big(number.value_or(-1)));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    // A copy of this call came at the same moment, and its token is the one that counts.
    if (answers.back().empty()) return Fail(Code::kUnavailable, "joined just now");
    Row inserted = answers.back()[0];
    return Session{session.id,   session.machine, session.project,
                   session.pool, session.shape,   static_cast<SessionState>(inserted.Small())};
  });
}

Result<Session> PostgresStore::CheckPass(const SessionPass& pass, Duration token_life,
                                         std::optional<JobId> job) {
  TIDEMILL_TRY(const Rows rows,
               Query(kCheckPass, Params().Uuid(pass.session).Big(job.value_or(JobId{}).number)));
  if (rows.empty()) return NotYourPass();
  Row row = rows[0];
  Session session = ReadSession(row);
  SessionTokens tokens;
  tokens.current = row.Text();
  tokens.next = row.Text();
  tokens.age = Duration(row.Big());
  if (!IsGood(tokens, HashToken(pass.token), token_life)) return NotYourPass();
  if (!row.Flag()) return NoLeaseOf(*job);
  return session;
}

Result<void> PostgresStore::Drain(SessionId id, const std::string& project) {
  TIDEMILL_TRY(const Rows rows, Query(kDrain, Params().Uuid(id).Text(project)));
  if (rows.touched() == 0) return NoSuchSession(id);
  return {};
}

Result<void> PostgresStore::PutAside(SessionId id, const std::string& reason) {
  TIDEMILL_TRY_VOID(Query(kPutAside, Params().Uuid(id).Text(reason)));
  return {};
}

Result<std::vector<tidemill::Record>> PostgresStore::ListRecords() {
  TIDEMILL_TRY(const Rows rows, Query(kListRecords));
  return ReadAll(rows, [](Row& row) {
    tidemill::Record record;
    record.session = row.Uuid<SessionId>();
    record.project = row.Text();
    record.pool = row.Text();
    record.attempts = row.Big();
    record.blamed = row.Big();
    record.aside = row.Flag();
    return record;
  });
}

Result<Reaped> PostgresStore::Reap(int limit) {
  return Transact<Reaped>([&](Transaction& transaction) -> Result<Reaped> {
    Reaped reaped;
    TIDEMILL_TRY(const Rows expired, transaction.One(kLockExpired, Params().Int(limit)));
    if (expired.empty()) return reaped;
    for (int i = 0; i < expired.size(); ++i) {
      reaped.sessions.push_back(expired[i].Uuid<SessionId>());
    }
    const Params sessions = Params().Uuids(reaped.sessions);
    TIDEMILL_TRY(const Rows rows, transaction.One(kLockLeasesOfSessions, sessions));
    LostLeases lost(transaction, ReadAll(rows, ReadLease));
    if (!rows.empty()) TIDEMILL_TRY_VOID(lost.Lose(reaped));
    transaction.Tell(kHearLost, sessions);
    transaction.Send(kDropLeases, sessions);
    transaction.Send(kEndSessions, sessions);
    TIDEMILL_TRY(const auto committed, transaction.Commit());
    return reaped;
  });
}

}  // namespace tidemill
