// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/exchange.h"

#include <algorithm>
#include <utility>

#include "model/token.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/postgres/status.h"
#include "store/rules.h"

namespace tidemill {

// Ordered, or two batches with the same agents could wait for each other.
const Statement kLockSessions{
    "lock_sessions",
    "select session_id, project, machine, pool, millicpus, memory_bytes, devices, address, token, "
    "next_token,"
    " (extract(epoch from clock_timestamp() - token_at) * 1000000)::bigint from agent_session"
    " where session_id = any ($1) and state < 2 order by session_id for no key update"};
// Not one statement with the lock: joined with what that finds it would be quadratic.
const Statement kRenew{
    "renew_sessions",
    "update agent_session a set expires_at = clock_timestamp() + k.life_us * interval '1 us',"
    " seen_at = clock_timestamp(), status = coalesce(nullif(k.status, ''), a.status)"
    " from unnest($1, $2, $3, $4, $5) k (id, life_us, status, token, token_us)"
    " where a.session_id = k.id and a.state < 2 and (k.token = a.next_token or (k.token = a.token"
    " and a.token_at > clock_timestamp() - k.token_us * interval '1 us'))"
    " returning a.session_id, a.state"};
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

namespace {

const Statement kFirstItems{"first_items",
                            "select c.job_id, c.chunk, c.first_item"
                            " from unnest($1, $2) k (job, chunk)"
                            " join chunk c on c.job_id = k.job and c.chunk = k.chunk"};
const Statement kActiveJobs{
    "active_jobs", "select job_id, project from job where job_id = any ($1) and state = 1"};

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
  TIDEMILL_TRY_VOID(CountTries());
  SettleAll();
  TIDEMILL_TRY_VOID(Compare());
  TIDEMILL_TRY_VOID(GrantAll());
  TIDEMILL_TRY_VOID(Write());
  CountOwed();
  result_.dry = ToVector(dry_);
  result_.freed = ToVector(freed_);
  result_.chunk_done = ToVector(chunk_done_);
  return std::move(result_);
}

Result<void> ExchangeRun::LockSessionsAndLeases() {
  struct News {
    std::int64_t life_us = 0;
    std::int64_t token_us = 0;
    std::string status;  // packed; empty if it is as before
  };
  // By what was shown: a session may speak twice, and somebody else under its name.
  std::map<std::pair<SessionId, std::string>, News> news;
  std::vector<LeaseId> to_settle;
  std::vector<SessionId> leaving;
  std::vector<std::int64_t> asked;
  for (const SyncOrder& order : exchange_.syncs) {
    shown_.push_back(HashToken(order.token));
    News& told = news[{order.session, shown_.back()}];
    told.life_us = order.life.count();
    told.token_us = order.token_life.count();
    if (order.status) told.status = PackStatus(*order.status);
    for (const Settlement& settlement : order.settlements) to_settle.push_back(settlement.lease);
    if (order.leaving) leaving.push_back(order.session);
    for (const Ask& ask : order.asks) asked.push_back(ask.job.number);
  }
  std::vector<SessionId> ids;
  std::vector<std::int64_t> life_us, token_us;
  std::vector<std::string_view> statuses, tokens;
  for (const auto& [who, told] : news) {
    ids.push_back(who.first);
    life_us.push_back(told.life_us);
    statuses.push_back(told.status);
    tokens.push_back(who.second);
    token_us.push_back(told.token_us);
  }
  transaction_.Send(kLockSessions, Params().Uuids(ids));
  Params renew = Params().Uuids(ids).Bigs(life_us).BytesList(statuses).BytesList(tokens);
  transaction_.Send(kRenew, renew.Bigs(token_us));
  const bool settles = !to_settle.empty() || !leaving.empty();
  if (settles) transaction_.Send(kLockLeases, Params().Uuids(to_settle).Uuids(leaving));
  transaction_.Send(kReadLeases, Params().Uuids(ids));
  transaction_.Send(kActiveJobs, Params().Bigs(asked));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());

  const Rows& renewed = answers[1];
  for (int i = 0; i < renewed.size(); ++i) {
    Row row = renewed[i];
    const auto id = row.Uuid<SessionId>();
    sessions_[id] = static_cast<SessionState>(row.Small());
  }
  const Rows& active = answers.back();
  for (int i = 0; i < active.size(); ++i) {
    Row row = active[i];
    const JobId job{row.Big()};
    active_[job] = row.Text();
  }
  for (const Lease& lease : ReadAll(answers[answers.size() - 2], ReadLease)) {
    ++held_[lease.session];
    leases_.emplace(lease.id, lease);
  }
  ReadPasses(answers[0]);
  for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) Admit(i);
  BelieveTroubles();
  return {};
}

void ExchangeRun::ReadPasses(const Rows& rows) {
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    Pass& pass = passes_[row.Uuid<SessionId>()];
    pass.project = row.Text();
    pass.machine = row.Text();
    pass.pool = row.Text();
    pass.shape.millicpus = row.Big();
    pass.shape.memory_bytes = row.Big();
    pass.shape.devices = ParseDevices(row.Text()).value_or(Devices());
    pass.address = row.Text();
    pass.tokens.current = row.Text();
    pass.tokens.next = row.Text();
    pass.tokens.age = Duration(row.Big());
  }
}

// What is not admitted is lost: whoever it is, it is not told whether there is such a session.
void ExchangeRun::Admit(std::size_t sync) {
  const SyncOrder& order = exchange_.syncs[sync];
  SyncResult& result = result_.syncs[sync];
  const auto state = sessions_.find(order.session);
  const auto found = passes_.find(order.session);
  result.lost = state == sessions_.end() || found == passes_.end() ||
                !IsGood(found->second.tokens, shown_[sync], order.token_life);
  if (result.lost) return;
  Pass& pass = found->second;
  result.draining = state->second == SessionState::kDraining;
  result.project = pass.project;
  result.machine = pass.machine;
  result.pool = pass.pool;
  result.shape = pass.shape;
  if (pass.address != order.address) {
    result.before_from = std::exchange(pass.address, order.address);
    pass.changed = true;
  }
  switch (TurnOf(pass.tokens, shown_[sync], !order.spare.empty(), order.token_life)) {
    case TokenTurn::kNone:
      break;
    case TokenTurn::kPromote:
      pass.tokens = {pass.tokens.next, {}, {}};
      pass.promoted = pass.changed = true;
      break;
    case TokenTurn::kOffer:
      pass.tokens.next = HashToken(order.spare);
      pass.changed = true;
      result.token = order.spare;
      break;
  }
}

// Before anything is settled: a sync may return the lease with the trouble.
void ExchangeRun::BelieveTroubles() {
  const bool any = std::any_of(exchange_.syncs.begin(), exchange_.syncs.end(),
                               [](const SyncOrder& order) { return !order.troubles.empty(); });
  if (!any) return;
  std::set<std::pair<SessionId, JobId>> held;
  for (const auto& [id, lease] : leases_) held.emplace(lease.session, lease.chunk.job);
  std::map<JobId, Trouble> believed;
  for (const SyncOrder& order : exchange_.syncs) {
    const auto index = static_cast<std::size_t>(&order - exchange_.syncs.data());
    if (result_.syncs[index].lost) continue;
    for (const Trouble& trouble : order.troubles) {
      if (held.contains({order.session, trouble.job})) believed.emplace(trouble.job, trouble);
    }
  }
  for (const auto& [job, trouble] : believed) result_.troubles.push_back(trouble);
}

Result<void> ExchangeRun::LockChunksToSettle() {
  std::set<ChunkKey> keys;
  std::set<LeaseId> touched;
  std::vector<ChunkKey> report_chunks;
  std::vector<LeaseId> report_leases;
  std::vector<std::int32_t> seqs;
  for (const SyncOrder& order : exchange_.syncs) {
    for (const Settlement& settlement : order.settlements) {
      const auto found = leases_.find(settlement.lease);
      if (found == leases_.end()) continue;
      keys.insert(found->second.chunk);
      touched.insert(settlement.lease);
      report_chunks.push_back(found->second.chunk);
      report_leases.push_back(settlement.lease);
      seqs.push_back(settlement.seq);
    }
    if (!order.leaving) continue;
    for (const auto& [id, lease] : leases_) {
      if (lease.session != order.session) continue;
      keys.insert(lease.chunk);
      touched.insert(id);
    }
  }
  if (keys.empty()) return {};
  transaction_.Send(kLockChunks, ChunkKeys(ToVector(keys)));
  transaction_.Send(kTakenReports, ChunkKeys(report_chunks).Uuids(report_leases).Ints(seqs));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
  for (const Chunk& chunk : ReadAll(answers[0], ReadChunk)) chunks_.emplace(chunk.key, chunk);
  std::vector<Lease> to_settle;
  for (const LeaseId& id : touched) to_settle.push_back(leases_.at(id));
  TIDEMILL_TRY_VOID(MustAgree(to_settle, chunks_));
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
      plans_.push_back({id, nullptr, AllBack(lease.mine), Bits(lease.mine.length())});
      lease.mine = Bits(lease.mine.length());
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
  plans_.push_back({lease.id, &settlement, masks, Bits(lease.mine.length())});
}

void ExchangeRun::SettleAll() {
  for (const Plan& plan : plans_) {
    const Lease& lease = leases_.at(plan.lease);
    Chunk& chunk = chunks_.at(lease.chunk);
    const Bits ended = ApplySettlement(chunk, plan.masks, plan.exhausted, lease.tried);
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
    attempts_[lease.session] += (plan.masks.ok | plan.masks.failed).Count();
    result_.outcomes += ended.Count();
    if (plan.masks.back.Any()) freed_.insert(chunk.key.job);
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
    for (Grant& grant : result.grants) {
      const auto found = first_items.find(grant.lease.chunk);
      if (found == first_items.end()) return BrokenLease(grant.lease.id);
      grant.first_item = found->second;
    }
  }
  return {};
}

void ExchangeRun::CountOwed() {
  std::map<SessionId, std::map<JobId, std::int64_t>> owed;
  for (const auto& [id, lease] : leases_) {
    if (lease.mine.Any()) owed[lease.session][lease.chunk.job] += lease.mine.Count();
  }
  for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
    if (!result_.syncs[i].lost) result_.syncs[i].owed = owed[exchange_.syncs[i].session];
  }
}

Result<ExchangeResult> PostgresStore::Run(const Exchange& exchange) {
  return Transact<ExchangeResult>(
      [&](Transaction& transaction) { return ExchangeRun(transaction, exchange).Run(); });
}

}  // namespace tidemill
