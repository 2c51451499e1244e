// SPDX-License-Identifier: Apache-2.0
// The last step of an exchange: all that has changed is written, and committed.
#include "base/check.h"
#include "store/postgres/exchange.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"

namespace tidemill {

const Statement kWritePass{
    "write_pass",
    "update agent_session set token = $2, next_token = $3,"
    " token_at = case when $4 then clock_timestamp() else token_at end, address = $5"
    " where session_id = $1"};
const Statement kCountAttempts{"count_attempts",
                               "update agent_session a set attempts = a.attempts + k.attempts"
                               " from unnest($1, $2) k (id, attempts) where a.session_id = k.id"};
const Statement kReadTries{
    "read_tries", "select " TIDEMILL_TRY_COLUMNS
                  " from unnest($1, $2, $3) k (job, first, last)"
                  " join item_try t on t.job_id = k.job and t.item between k.first and k.last"};

namespace {

const Statement kInsertReports{
    "insert_reports",
    "insert into report (job_id, chunk, lease_id, seq, round, kind, settled, ended, body)"
    " select k.job, k.chunk, k.lease, k.seq, k.round, 0, k.settled, k.ended, k.body"
    " from unnest($1, $2, $3, $4, $5, $6, $7, $8)"
    " k (job, chunk, lease, seq, round, settled, ended, body)"};
const Statement kShrinkLeases{"shrink_leases",
                              "update lease l set mine = k.mine from unnest($1, $2) k (id, mine)"
                              " where l.lease_id = k.id"};
const Statement kInsertLeases{"insert_leases",
                              "insert into lease (lease_id, session_id, job_id, chunk, round, mine,"
                              " memory_bytes, tried) select k.id, k.session, k.job, k.chunk,"
                              " k.round, k.mine, k.memory_bytes, k.tried <> 0"
                              " from unnest($1, $2, $3, $4, $5, $6, $7, $8)"
                              " k (id, session, job, chunk, round, mine, memory_bytes, tried)"};

}  // namespace

void ExchangeRun::SendLeases() {
  std::vector<LeaseId> ended, shrunk, granted;
  std::vector<Bits> rests, mines;
  for (const LeaseId& id : settled_) {
    const Lease& lease = leases_.at(id);
    if (lease.mine.None()) {
      ended.push_back(id);
    } else {
      shrunk.push_back(id);
      rests.push_back(lease.mine);
    }
  }
  std::vector<SessionId> sessions;
  std::vector<std::int64_t> jobs, memory;
  std::vector<std::int32_t> chunks, rounds, tried;
  for (const LeaseId& id : granted_) {
    const Lease& lease = leases_.at(id);
    granted.push_back(id);
    sessions.push_back(lease.session);
    jobs.push_back(lease.chunk.job.number);
    chunks.push_back(lease.chunk.chunk);
    rounds.push_back(lease.round);
    mines.push_back(lease.mine);
    memory.push_back(lease.memory_bytes);
    tried.push_back(lease.tried ? 1 : 0);
  }
  if (!ended.empty()) transaction_.Send(kEndLeases, Params().Uuids(ended));
  if (!shrunk.empty()) transaction_.Send(kShrinkLeases, Params().Uuids(shrunk).BitStrings(rests));
  if (granted.empty()) return;
  Params params;
  params.Uuids(granted).Uuids(sessions).Bigs(jobs).Ints(chunks).Ints(rounds).BitStrings(mines);
  transaction_.Send(kInsertLeases, params.Bigs(memory).Ints(tried));
}

// Agents must know how often their items have run before.
bool ExchangeRun::SendTries() {
  std::vector<std::int64_t> jobs, firsts, lasts;
  for (const SyncResult& result : result_.syncs) {
    for (const Grant& grant : result.grants) {
      jobs.push_back(grant.lease.chunk.job.number);
      firsts.push_back(grant.first_item + grant.lease.mine.FindFrom(0));
      lasts.push_back(grant.first_item + grant.lease.mine.Indexes().back());
    }
  }
  if (jobs.empty()) return false;
  transaction_.Send(kReadTries, Params().Bigs(jobs).Bigs(firsts).Bigs(lasts));
  return true;
}

void ExchangeRun::AddTries(const Rows& rows) {
  std::map<std::pair<JobId, std::int64_t>, ItemTry> tries;
  for (const ItemTry& item_try : ReadAll(rows, ReadTry)) {
    tries[{item_try.job, item_try.item}] = item_try;
  }
  if (tries.empty()) return;
  for (SyncResult& result : result_.syncs) {
    for (Grant& grant : result.grants) {
      for (const int offset : grant.lease.mine.Indexes()) {
        const auto found = tries.find({grant.lease.chunk.job, grant.first_item + offset});
        if (found != tries.end()) grant.tries.push_back(found->second);
      }
    }
  }
}

// Seldom: a token is turned over twice an hour, and machines keep their addresses.
void ExchangeRun::SendPasses() {
  for (const auto& [id, pass] : passes_) {
    if (!pass.changed) continue;
    transaction_.Send(kWritePass, Params()
                                      .Uuid(id)
                                      .Bytes(pass.tokens.current)
                                      .Bytes(pass.tokens.next)
                                      .Flag(pass.promoted)
                                      .Text(pass.address));
  }
}

// The rows are locked already, and have been written by this transaction.
void ExchangeRun::SendAttempts() {
  std::vector<SessionId> sessions;
  std::vector<std::int64_t> attempts;
  for (const auto& [session, count] : attempts_) {
    if (count == 0) continue;
    sessions.push_back(session);
    attempts.push_back(count);
  }
  if (sessions.empty()) return;
  transaction_.Send(kCountAttempts, Params().Uuids(sessions).Bigs(attempts));
}

Result<void> ExchangeRun::Write() {
  std::vector<const Chunk*> chunks;
  for (const ChunkKey& key : changed_) chunks.push_back(&chunks_.at(key));
  if (!chunks.empty()) transaction_.Send(kWriteChunks, ChunkPlanes(chunks));
  if (!reports_.empty()) {
    std::vector<ChunkKey> keys;
    std::vector<LeaseId> leases;
    std::vector<std::int32_t> seqs, rounds;
    std::vector<Bits> settled, ended;
    std::vector<std::string_view> bodies;
    for (const Report& report : reports_) {
      keys.push_back(report.chunk);
      leases.push_back(report.lease);
      seqs.push_back(report.seq);
      rounds.push_back(report.round);
      settled.push_back(report.settled);
      ended.push_back(report.ended);
      bodies.push_back(report.body);
    }
    Params params = ChunkKeys(keys);
    params.Uuids(leases).Ints(seqs).Ints(rounds).BitStrings(settled).BitStrings(ended);
    transaction_.Send(kInsertReports, params.BytesList(bodies));
  }
  SendLeases();
  SendPasses();
  SendAttempts();
  std::vector<SessionId> leaving;
  for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
    if (exchange_.syncs[i].leaving && !result_.syncs[i].lost) {
      leaving.push_back(exchange_.syncs[i].session);
    }
  }
  if (!leaving.empty()) transaction_.Send(kEndSessions, Params().Uuids(leaving));
  const bool granted = SendTries();
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Commit());
  if (!chunks.empty()) {
    TIDEMILL_CHECK(answers[0].touched() == static_cast<std::int64_t>(chunks.size()));
  }
  if (granted) AddTries(answers.back());
  return {};
}

}  // namespace tidemill
