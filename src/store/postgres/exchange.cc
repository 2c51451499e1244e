// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/exchange.h"

#include <algorithm>

#include "base/check.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

// Ordered, or two batches with the same agents could wait for each other.
const Statement kRenew{
    "renew_sessions",
    "with s as materialized (select session_id from agent_session where session_id = any ($1)"
    " and state < 2 order by session_id for no key update)"
    " update agent_session a set expires_at = clock_timestamp() + k.life_us * interval '1 us'"
    " from s join unnest($1, $2) k (id, life_us) on k.id = s.session_id"
    " where a.session_id = s.session_id returning a.session_id, a.state"};
const Statement kLockLeases{"lock_leases",
                            "select lease_id from lease"
                            " where lease_id = any ($1) or session_id = any ($2)"
                            " order by lease_id for no key update"};
// A statement of its own: it sees what those have done that the one before it waited for.
const Statement kReadLeases{
    "read_leases", "select " TIDEMILL_LEASE_COLUMNS " from lease where session_id = any ($1)"};
const Statement kTakenReports{
    "taken_reports",
    "select r.lease_id, r.seq from unnest($1, $2, $3, $4) k (job, chunk, lease, seq)"
    " join report r on r.job_id = k.job and r.chunk = k.chunk and r.lease_id = k.lease"
    " and r.seq = k.seq"};
const Statement kFindFree{
    "find_free",
    "select " TIDEMILL_CHUNK_COLUMNS
    " from chunk c where c.job_id = $1 and c.chunk >= $2 and c.chunk < $3 and c.has_free"
    " order by c.chunk limit $4 for no key update of c skip locked"};
const Statement kReadTries{
    "read_tries", "select " TIDEMILL_TRY_COLUMNS
                  " from unnest($1, $2, $3) k (job, first, last)"
                  " join item_try t on t.job_id = k.job and t.item between k.first and k.last"};

namespace {

const Statement kFirstItems{"first_items",
                            "select c.job_id, c.chunk, c.first_item"
                            " from unnest($1, $2) k (job, chunk)"
                            " join chunk c on c.job_id = k.job and c.chunk = k.chunk"};
const Statement kCountFailures{
    "count_failures",
    "insert into item_try as t (job_id, item, attempts)"
    " select k.job, k.item, 1 from unnest($1, $2) k (job, item) order by k.job, k.item"
    " on conflict (job_id, item) do update set attempts = t.attempts + 1"
    " returning t.job_id, t.item,"
    " (select retries from job j where j.job_id = t.job_id) - t.attempts"};
const Statement kActiveJobs{"active_jobs",
                            "select job_id from job where job_id = any ($1) and state = 1"};
const Statement kInsertReports{
    "insert_reports",
    "insert into report (job_id, chunk, lease_id, seq, round, kind, settled, ended, body)"
    " select k.job, k.chunk, k.lease, k.seq, k.round, 0, k.settled, k.ended, k.body"
    " from unnest($1, $2, $3, $4, $5, $6, $7, $8)"
    " k (job, chunk, lease, seq, round, settled, ended, body)"};
const Statement kShrinkLeases{"shrink_leases",
                              "update lease l set mine = k.mine from unnest($1, $2) k (id, mine)"
                              " where l.lease_id = k.id"};
const Statement kEndLeases{"end_leases", "delete from lease where lease_id = any ($1)"};
const Statement kInsertLeases{"insert_leases",
                              "insert into lease (lease_id, session_id, job_id, chunk, round, mine)"
                              " select * from unnest($1, $2, $3, $4, $5, $6)"};
const Statement kEndSessions{"end_sessions",
                             "update agent_session set state = 2, ended_at = clock_timestamp()"
                             " where session_id = any ($1)"};

template <typename T>
std::vector<T> ToVector(const std::set<T>& values) {
  return std::vector<T>(values.begin(), values.end());
}

}  // namespace

ExchangeRun::ExchangeRun(Transaction& transaction, const Exchange& exchange)
    : transaction_(transaction), exchange_(exchange) {
  result_.syncs.resize(exchange.syncs.size());
}

Result<ExchangeResult> ExchangeRun::Run() {
  TIDEMILL_TRY_VOID(LockSessionsAndLeases());
  TIDEMILL_TRY_VOID(LockChunksToSettle());
  PlanAll();
  TIDEMILL_TRY_VOID(CountFailures());
  SettleAll();
  TIDEMILL_TRY_VOID(Compare());
  TIDEMILL_TRY_VOID(GrantAll());
  TIDEMILL_TRY_VOID(Write());
  result_.dry = ToVector(dry_);
  result_.freed = ToVector(freed_);
  result_.chunk_done = ToVector(chunk_done_);
  return std::move(result_);
}

Result<void> ExchangeRun::LockSessionsAndLeases() {
  std::map<SessionId, std::int64_t> lives;
  std::vector<LeaseId> to_settle;
  std::vector<SessionId> leaving;
  std::vector<std::int64_t> asked;
  for (const SyncOrder& order : exchange_.syncs) {
    lives[order.session] = order.life.count();
    for (const Settlement& settlement : order.settlements) to_settle.push_back(settlement.lease);
    if (order.leaving) leaving.push_back(order.session);
    for (const Ask& ask : order.asks) asked.push_back(ask.job.number);
  }
  std::vector<SessionId> ids;
  std::vector<std::int64_t> life_us;
  for (const auto& [id, life] : lives) {
    ids.push_back(id);
    life_us.push_back(life);
  }
  transaction_.Send(kRenew, Params().Uuids(ids).Bigs(life_us));
  const bool settles = !to_settle.empty() || !leaving.empty();
  if (settles) transaction_.Send(kLockLeases, Params().Uuids(to_settle).Uuids(leaving));
  transaction_.Send(kReadLeases, Params().Uuids(ids));
  transaction_.Send(kActiveJobs, Params().Bigs(asked));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());

  for (int i = 0; i < answers[0].size(); ++i) {
    Row row = answers[0][i];
    const auto id = row.Uuid<SessionId>();
    sessions_[id] = static_cast<SessionState>(row.Small());
  }
  const Rows& active = answers.back();
  for (int i = 0; i < active.size(); ++i) active_.insert(JobId{active[i].Big()});
  for (Lease& lease : ReadAll(answers[answers.size() - 2], ReadLease)) {
    ++held_[lease.session];
    leases_.emplace(lease.id, std::move(lease));
  }
  for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
    const auto found = sessions_.find(exchange_.syncs[i].session);
    result_.syncs[i].lost = found == sessions_.end();
    result_.syncs[i].draining =
        found != sessions_.end() && found->second == SessionState::kDraining;
  }
  return {};
}

Result<void> ExchangeRun::LockChunksToSettle() {
  std::set<ChunkKey> keys;
  std::vector<ChunkKey> report_chunks;
  std::vector<LeaseId> report_leases;
  std::vector<std::int32_t> seqs;
  for (const SyncOrder& order : exchange_.syncs) {
    for (const Settlement& settlement : order.settlements) {
      const auto found = leases_.find(settlement.lease);
      if (found == leases_.end()) continue;
      keys.insert(found->second.chunk);
      report_chunks.push_back(found->second.chunk);
      report_leases.push_back(settlement.lease);
      seqs.push_back(settlement.seq);
    }
    if (!order.leaving) continue;
    for (const auto& [id, lease] : leases_) {
      if (lease.session == order.session) keys.insert(lease.chunk);
    }
  }
  if (keys.empty()) return {};
  transaction_.Send(kLockChunks, ChunkKeys(ToVector(keys)));
  transaction_.Send(kTakenReports, ChunkKeys(report_chunks).Uuids(report_leases).Ints(seqs));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
  for (Chunk& chunk : ReadAll(answers[0], ReadChunk)) chunks_.emplace(chunk.key, std::move(chunk));
  for (int i = 0; i < answers[1].size(); ++i) {
    Row row = answers[1][i];
    const auto lease = row.Uuid<LeaseId>();
    taken_.emplace(lease, row.Int());
  }
  return {};
}

void ExchangeRun::PlanAll() {
  for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
    const SyncOrder& order = exchange_.syncs[i];
    if (result_.syncs[i].lost) continue;
    for (const Settlement& settlement : order.settlements) {
      const auto found = leases_.find(settlement.lease);
      if (found == leases_.end() || found->second.session != order.session) continue;
      if (found->second.mine.None()) continue;
      PlanOne(result_.syncs[i], found->second, settlement);
    }
    if (!order.leaving) continue;
    sessions_[order.session] = SessionState::kDead;
    for (auto& [id, lease] : leases_) {
      if (lease.session != order.session || lease.mine.None()) continue;
      const Bits none(lease.mine.length());
      plans_.push_back({id, nullptr, {none, none, lease.mine}});
      lease.mine = none;
    }
  }
}

void ExchangeRun::PlanOne(SyncResult& result, Lease& lease, const Settlement& settlement) {
  if (auto why = WhyRefused(settlement, lease.mine.length())) {
    result.refused.push_back({lease.id, settlement.seq, *why});
    return;
  }
  const SettleMasks masks = MasksOf(lease.mine, settlement);
  if (masks.settled().Any() && !taken_.emplace(lease.id, settlement.seq).second) {
    result.refused.push_back({lease.id, settlement.seq, kSeqTaken});
    return;
  }
  if (masks.all().None()) return;
  lease.mine -= masks.all();
  plans_.push_back({lease.id, &settlement, masks});
}

Result<void> ExchangeRun::CountFailures() {
  std::vector<std::int64_t> jobs, items;
  for (const Plan& plan : plans_) {
    const Chunk& chunk = chunks_.at(leases_.at(plan.lease).chunk);
    for (const int offset : plan.masks.failed.Indexes()) {
      jobs.push_back(chunk.key.job.number);
      items.push_back(chunk.first_item + offset);
    }
  }
  if (items.empty()) return {};
  TIDEMILL_TRY(const Rows rows, transaction_.One(kCountFailures, Params().Bigs(jobs).Bigs(items)));
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    const JobId job{row.Big()};
    const std::int64_t item = row.Big();
    if (row.Int() < 0) exhausted_.emplace(job, item);
  }
  return {};
}

void ExchangeRun::SettleAll() {
  for (const Plan& plan : plans_) {
    const Lease& lease = leases_.at(plan.lease);
    Chunk& chunk = chunks_.at(lease.chunk);
    Bits exhausted(chunk.length());
    for (const int offset : plan.masks.failed.Indexes()) {
      if (exhausted_.contains({chunk.key.job, chunk.first_item + offset})) exhausted.Set(offset);
    }
    const Bits ended = ApplySettlement(chunk, plan.masks, exhausted);
    changed_.insert(chunk.key);
    settled_.insert(lease.id);
    if (plan.masks.settled().Any()) {
      reports_.push_back({lease.id,
                          plan.settlement->seq,
                          lease.chunk,
                          lease.round,
                          ReportKind::kAgent,
                          plan.masks.settled(),
                          ended,
                          {}});
      reports_.back().body = plan.settlement->body;
    }
    result_.outcomes += ended.Count();
    if ((plan.masks.all() - ended).Any()) freed_.insert(chunk.key.job);
    if (ended.Any() && chunk.AllDone()) chunk_done_.insert(chunk.key.job);
  }
  for (const LeaseId& id : settled_) {
    const Lease& lease = leases_.at(id);
    if (lease.mine.None()) --held_[lease.session];
  }
}

Result<void> ExchangeRun::Compare() {
  std::set<ChunkKey> given_again;
  for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
    const SyncOrder& order = exchange_.syncs[i];
    SyncResult& result = result_.syncs[i];
    if (result.lost) continue;
    const std::set<LeaseId> known(order.known.begin(), order.known.end());
    const auto held = [&](const LeaseId& id) {
      const auto found = leases_.find(id);
      return found != leases_.end() && found->second.session == order.session &&
             found->second.mine.Any();
    };
    for (const LeaseId& id : order.known) {
      if (!held(id)) result.gone.push_back(id);
    }
    const auto known_held = std::count_if(known.begin(), known.end(), held);
    if (held_[order.session] == static_cast<std::size_t>(known_held)) continue;
    for (const auto& [id, lease] : leases_) {
      if (lease.session != order.session || lease.mine.None() || known.contains(id)) continue;
      result.grants.push_back({lease, 0, {}});
      given_again.insert(lease.chunk);
    }
  }
  if (given_again.empty()) return {};
  TIDEMILL_TRY(const Rows rows, transaction_.One(kFirstItems, ChunkKeys(ToVector(given_again))));
  std::map<ChunkKey, std::int64_t> first_items;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    const JobId job{row.Big()};
    const std::int32_t chunk = row.Int();
    first_items[{job, chunk}] = row.Big();
  }
  for (SyncResult& result : result_.syncs) {
    for (Grant& grant : result.grants) grant.first_item = first_items.at(grant.lease.chunk);
  }
  return {};
}

bool ExchangeRun::MayHave(std::size_t sync, std::size_t wanted) const {
  const SyncOrder& order = exchange_.syncs[sync];
  const SyncResult& result = result_.syncs[sync];
  if (result.lost || !result.grants.empty()) return false;
  if (sessions_.at(order.session) != SessionState::kAlive) return false;
  const auto held = held_.find(order.session);
  return (held == held_.end() ? 0 : held->second) + wanted < limits::kLeasesPerSession;
}

Result<void> ExchangeRun::GrantAll() {
  for (std::size_t choice = 0; choice < limits::kAsksPerSync; ++choice) {
    std::map<JobId, std::vector<Want>> wants;
    std::map<SessionId, std::size_t> wanted;
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      const SyncOrder& order = exchange_.syncs[i];
      if (choice >= order.asks.size() || !MayHave(i, wanted[order.session])) continue;
      ++wanted[order.session];
      const Ask& ask = order.asks[choice];
      wants[ask.job].push_back({i, &ask});
    }
    for (auto& [job, job_wants] : wants) TIDEMILL_TRY_VOID(GrantJob(job, job_wants));
  }
  return {};
}

Result<void> ExchangeRun::GrantJob(JobId job, std::vector<Want>& wants) {
  const auto found = exchange_.cursors.find(job);
  const std::int32_t cursor = found == exchange_.cursors.end() ? 0 : found->second;
  // Served from the back.
  std::reverse(wants.begin(), wants.end());
  if (active_.contains(job)) {
    TIDEMILL_TRY_VOID(GrantFrom(job, cursor, INT32_MAX, wants));
    TIDEMILL_TRY_VOID(GrantFrom(job, 0, cursor, wants));
  }
  if (!wants.empty()) dry_.insert(job);
  return {};
}

// Takes as many chunks as the wants are likely to need, and more only if they do: what is locked
// here cannot be granted by others meanwhile. Chunks that were locked to be settled count as they
// are now.
Result<void> ExchangeRun::GrantFrom(JobId job, std::int32_t from, std::int32_t to,
                                    std::vector<Want>& wants) {
  while (!wants.empty() && from < to) {
    std::int64_t items = 0;
    for (const Want& want : wants) items += std::max(want.ask->max_items, 0);
    const int limit = static_cast<int>(
        std::min<std::int64_t>(items / limits::kItemsPerChunk + 1, limits::kSyncsPerBatch));
    TIDEMILL_TRY(
        const Rows rows,
        transaction_.One(kFindFree, Params().Big(job.number).Int(from).Int(to).Int(limit)));
    std::int32_t seen_to = to;
    for (Chunk& chunk : ReadAll(rows, ReadChunk)) {
      if (rows.size() == limit) seen_to = chunk.key.chunk + 1;
      chunks_.emplace(chunk.key, std::move(chunk));
    }
    for (auto it = chunks_.lower_bound({job, from});
         it != chunks_.end() && it->first < ChunkKey{job, seen_to}; ++it) {
      while (!wants.empty() && it->second.Free().Any()) {
        GrantOne(it->second, wants.back());
        wants.pop_back();
      }
    }
    from = seen_to;
  }
  return {};
}

void ExchangeRun::GrantOne(Chunk& chunk, const Want& want) {
  const Bits items = PickItems(chunk, want.ask->max_items);
  if (items.None()) return;
  GrantItems(chunk, items);
  changed_.insert(chunk.key);
  const SessionId session = exchange_.syncs[want.sync].session;
  const Lease lease{want.ask->lease, session, chunk.key, chunk.round, items};
  leases_[lease.id] = lease;
  granted_.insert(lease.id);
  ++held_[session];
  result_.syncs[want.sync].grants.push_back({lease, chunk.first_item, {}});
  result_.cursors[chunk.key.job] = chunk.key.chunk;
}

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
  std::vector<std::int64_t> jobs;
  std::vector<std::int32_t> chunks, rounds;
  for (const LeaseId& id : granted_) {
    const Lease& lease = leases_.at(id);
    granted.push_back(id);
    sessions.push_back(lease.session);
    jobs.push_back(lease.chunk.job.number);
    chunks.push_back(lease.chunk.chunk);
    rounds.push_back(lease.round);
    mines.push_back(lease.mine);
  }
  if (!ended.empty()) transaction_.Send(kEndLeases, Params().Uuids(ended));
  if (!shrunk.empty()) transaction_.Send(kShrinkLeases, Params().Uuids(shrunk).BitStrings(rests));
  if (granted.empty()) return;
  Params params;
  params.Uuids(granted).Uuids(sessions).Bigs(jobs).Ints(chunks).Ints(rounds).BitStrings(mines);
  transaction_.Send(kInsertLeases, params);
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

Result<ExchangeResult> PostgresStore::Run(const Exchange& exchange) {
  return Transact<ExchangeResult>(
      [&](Transaction& transaction) { return ExchangeRun(transaction, exchange).Run(); });
}

}  // namespace tidemill
