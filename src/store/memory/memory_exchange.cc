// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "model/token.h"
#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

// One exchange, in three passes over its syncs: sessions live on, settlements are recorded, leases
// are granted. What is settled by one agent can so be granted to another at once.
class MemoryStore::ExchangeRun {
 public:
  ExchangeRun(MemoryStore& store, const Exchange& exchange) : store_(store), exchange_(exchange) {
    result_.syncs.resize(exchange.syncs.size());
  }

  ExchangeResult Run() {
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) Renew(i);
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      if (!result_.syncs[i].lost) Believe(exchange_.syncs[i]);
    }
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      if (!result_.syncs[i].lost) SettleAll(i);
    }
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      if (!result_.syncs[i].lost) Compare(i);
    }
    for (std::size_t choice = 0; choice < limits::kAsksPerSync; ++choice) GrantAll(choice);
    result_.dry.assign(dry_.begin(), dry_.end());
    result_.freed.assign(freed_.begin(), freed_.end());
    result_.chunk_done.assign(chunk_done_.begin(), chunk_done_.end());
    for (const auto& [job, trouble] : troubles_) result_.troubles.push_back(trouble);
    return std::move(result_);
  }

 private:
  Chunk& ChunkOf(ChunkKey key) { return store_.jobs_.at(key.job).chunks[key.chunk].chunk; }

  void Renew(std::size_t i) {
    const SyncOrder& order = exchange_.syncs[i];
    SyncResult& result = result_.syncs[i];
    const auto found = store_.sessions_.find(order.session);
    const std::string shown = HashToken(order.token);
    if (found == store_.sessions_.end() || found->second.session.state == SessionState::kDead ||
        !IsGood(store_.TokensOf(found->second), shown, order.token_life)) {
      result.lost = true;
      return;
    }
    SessionRow& row = found->second;
    row.seen_us = store_.clock_us_();
    row.expires_us = row.seen_us + order.life.count();
    if (order.status) row.status = order.status;
    result.draining = row.session.state == SessionState::kDraining;
    result.project = row.session.project;
    if (row.address != order.address) result.before_from = row.address;
    row.address = order.address;
    Turn(row, order, shown, result);
  }

  void Turn(SessionRow& row, const SyncOrder& order, const std::string& shown, SyncResult& result) {
    switch (TurnOf(store_.TokensOf(row), shown, !order.spare.empty(), order.token_life)) {
      case TokenTurn::kNone:
        break;
      case TokenTurn::kPromote:
        row.token = std::exchange(row.next_token, {});
        row.token_us = store_.clock_us_();
        break;
      case TokenTurn::kOffer:
        row.next_token = HashToken(order.spare);
        result.token = order.spare;
        break;
    }
  }

  // Before anything is settled: a sync may return the lease with the trouble.
  void Believe(const SyncOrder& order) {
    for (const Trouble& trouble : order.troubles) {
      const bool held =
          std::any_of(store_.leases_.begin(), store_.leases_.end(), [&](const auto& entry) {
            return entry.second.session == order.session && entry.second.chunk.job == trouble.job;
          });
      if (held) troubles_.emplace(trouble.job, trouble);
    }
  }

  void SettleAll(std::size_t i) {
    const SyncOrder& order = exchange_.syncs[i];
    for (const Settlement& settlement : order.settlements) {
      const auto found = store_.leases_.find(settlement.lease);
      if (found == store_.leases_.end() || found->second.session != order.session) continue;
      Settle(found->second, settlement, result_.syncs[i]);
      if (found->second.mine.None()) store_.leases_.erase(found);
    }
    if (order.leaving) Leave(order.session);
  }

  void Settle(Lease& lease, const Settlement& settlement, SyncResult& result) {
    if (auto why = WhyRefused(settlement, lease.mine.length())) {
      result.refused.push_back({lease.id, settlement.seq, *why});
      return;
    }
    const SettleMasks masks = MasksOf(lease.mine, settlement);
    if (masks.settled().Any() && store_.reports_.contains({lease.id, settlement.seq})) {
      result.refused.push_back({lease.id, settlement.seq, kSeqTaken});
      return;
    }
    Chunk& chunk = ChunkOf(lease.chunk);
    const Bits exhausted = CountFailures(chunk, masks.failed);
    const Bits ended = ApplySettlement(chunk, masks, exhausted);
    if (masks.settled().Any()) {
      store_.reports_[{lease.id, settlement.seq}] =
          Report{lease.id,           settlement.seq,  lease.chunk, lease.round,
                 ReportKind::kAgent, masks.settled(), ended,       settlement.body};
    }
    lease.mine -= masks.all();
    Note(chunk, masks.all(), ended);
  }

  // Those that have no retries left.
  Bits CountFailures(const Chunk& chunk, const Bits& failed) {
    const int retries = store_.jobs_.at(chunk.key.job).job.spec.retries;
    Bits exhausted(chunk.length());
    for (const int offset : failed.Indexes()) {
      const std::int64_t item = chunk.first_item + offset;
      ItemTry& item_try = store_.tries_[{chunk.key.job, item}];
      item_try.job = chunk.key.job;
      item_try.item = item;
      if (++item_try.attempts > retries) exhausted.Set(offset);
    }
    return exhausted;
  }

  void Note(const Chunk& chunk, const Bits& given_up, const Bits& ended) {
    result_.outcomes += ended.Count();
    if ((given_up - ended).Any()) freed_.insert(chunk.key.job);
    if (ended.Any() && chunk.AllDone()) chunk_done_.insert(chunk.key.job);
  }

  void Leave(SessionId session) {
    for (auto it = store_.leases_.begin(); it != store_.leases_.end();) {
      const Lease& lease = it->second;
      if (lease.session != session) {
        ++it;
        continue;
      }
      Chunk& chunk = ChunkOf(lease.chunk);
      const Bits none(chunk.length());
      ApplySettlement(chunk, {none, none, lease.mine}, none);
      freed_.insert(chunk.key.job);
      it = store_.leases_.erase(it);
    }
    SessionRow& row = store_.sessions_.at(session);
    row.session.state = SessionState::kDead;
    row.dead_us = store_.clock_us_();
  }

  tidemill::Grant GrantOf(const Lease& lease) {
    const Chunk& chunk = ChunkOf(lease.chunk);
    tidemill::Grant grant{lease, chunk.first_item, {}};
    for (const int offset : lease.mine.Indexes()) {
      const auto found = store_.tries_.find({lease.chunk.job, chunk.first_item + offset});
      if (found != store_.tries_.end()) grant.tries.push_back(found->second);
    }
    return grant;
  }

  // Leases that the agent does not know are given again: the answer that brought them was lost.
  void Compare(std::size_t i) {
    const SyncOrder& order = exchange_.syncs[i];
    SyncResult& result = result_.syncs[i];
    for (const LeaseId& known : order.known) {
      const auto found = store_.leases_.find(known);
      if (found == store_.leases_.end() || found->second.session != order.session) {
        result.gone.push_back(known);
      }
    }
    for (const auto& [id, lease] : store_.leases_) {
      if (lease.session != order.session) continue;
      if (std::find(order.known.begin(), order.known.end(), id) != order.known.end()) continue;
      result.grants.push_back(GrantOf(lease));
    }
  }

  bool MayHave(const SyncOrder& order, const SyncResult& result, std::size_t wanted) const {
    if (result.lost || !result.grants.empty()) return false;
    if (store_.sessions_.at(order.session).session.state != SessionState::kAlive) return false;
    const auto held = std::count_if(
        store_.leases_.begin(), store_.leases_.end(),
        [&order](const auto& entry) { return entry.second.session == order.session; });
    return static_cast<std::size_t>(held) + wanted < limits::kLeasesPerSession;
  }

  bool IsOfAnother(const std::string& project, JobId job) const {
    const auto found = store_.jobs_.find(job);
    return found != store_.jobs_.end() && found->second.job.state == JobState::kActive &&
           found->second.job.project != project;
  }

  // Who may have one is decided before any is granted, so that the order of the jobs does not
  // matter.
  void GrantAll(std::size_t choice) {
    std::map<SessionId, std::size_t> wanted;
    std::vector<std::size_t> wants;
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      const SyncOrder& order = exchange_.syncs[i];
      if (choice >= order.asks.size()) continue;
      if (!MayHave(order, result_.syncs[i], wanted[order.session])) continue;
      if (IsOfAnother(result_.syncs[i].project, order.asks[choice].job)) continue;
      ++wanted[order.session];
      wants.push_back(i);
    }
    for (const std::size_t i : wants) Grant(i, exchange_.syncs[i].asks[choice]);
  }

  void Grant(std::size_t i, const Ask& ask) {
    const SyncOrder& order = exchange_.syncs[i];
    SyncResult& result = result_.syncs[i];
    Chunk* chunk = FindFree(ask.job);
    if (chunk == nullptr) {
      dry_.insert(ask.job);
      return;
    }
    const Bits items = PickItems(*chunk, ask.max_items);
    if (items.None()) return;
    GrantItems(*chunk, items);
    const Lease lease{ask.lease, order.session, chunk->key, chunk->round, items};
    store_.leases_[lease.id] = lease;
    result.grants.push_back(GrantOf(lease));
    result_.cursors[ask.job] = chunk->key.chunk;
  }

  // From the cursor on, then from the start.
  Chunk* FindFree(JobId job) {
    const auto found = store_.jobs_.find(job);
    if (found == store_.jobs_.end() || found->second.job.state != JobState::kActive) return nullptr;
    std::vector<StoredChunk>& chunks = found->second.chunks;
    const auto cursor = exchange_.cursors.find(job);
    std::size_t from = cursor == exchange_.cursors.end() ? 0 : std::max(cursor->second, 0);
    if (from >= chunks.size()) from = 0;
    for (std::size_t n = 0; n < chunks.size(); ++n) {
      Chunk& chunk = chunks[(from + n) % chunks.size()].chunk;
      if (chunk.Free().Any()) return &chunk;
    }
    return nullptr;
  }

  MemoryStore& store_;
  const Exchange& exchange_;
  ExchangeResult result_;
  std::set<JobId> dry_;
  std::set<JobId> freed_;
  std::set<JobId> chunk_done_;
  std::map<JobId, Trouble> troubles_;
};

Result<ExchangeResult> MemoryStore::Run(const Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  return ExchangeRun(*this, exchange).Run();
}

SessionTokens MemoryStore::TokensOf(const SessionRow& row) const {
  return {row.token, row.next_token, Duration(clock_us_() - row.token_us)};
}

Result<Session> MemoryStore::Join(const NewSession& session) {
  const std::lock_guard lock(mutex_);
  const std::string key = HashToken(session.machine_key);
  const auto known = sessions_.find(session.id);
  if (known != sessions_.end()) {
    SessionRow& row = known->second;
    if (row.machine_key != key || !IsSamePlace(row.session, session)) {
      return OtherMachineKey(session.machine);
    }
    Session found = row.session;
    if (row.token.empty()) found.state = SessionState::kDead;
    if (found.state != SessionState::kDead) row.next_token = HashToken(session.token);
    return found;
  }
  std::vector<SessionRow*> others;
  for (auto& [id, row] : sessions_) {
    const Session& other = row.session;
    if (other.state == SessionState::kDead || other.project != session.project ||
        other.pool != session.pool || other.machine != session.machine) {
      continue;
    }
    if (row.machine_key != key) return OtherMachineKey(session.machine);
    others.push_back(&row);
  }
  for (SessionRow* row : others) {
    row->expires_us = std::min(row->expires_us, clock_us_() - 1);
    row->token.clear();
    row->next_token.clear();
  }
  SessionRow& row = sessions_[session.id];
  row.session = Session{session.id,   session.machine, session.project,
                        session.pool, session.shape,   SessionState::kAlive};
  row.joined_us = row.seen_us = row.token_us = clock_us_();
  row.expires_us = row.joined_us + session.life.count();
  row.machine_key = key;
  row.token = HashToken(session.token);
  row.address = session.address;
  return row.session;
}

Result<Session> MemoryStore::CheckPass(const SessionPass& pass, Duration token_life,
                                       std::optional<JobId> job) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(pass.session);
  if (found == sessions_.end() || found->second.session.state == SessionState::kDead ||
      !IsGood(TokensOf(found->second), HashToken(pass.token), token_life)) {
    return NotYourPass();
  }
  const bool holds = !job || std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    return entry.second.session == pass.session && entry.second.chunk.job == *job;
  });
  if (!holds) return NoLeaseOf(*job);
  return found->second.session;
}

Result<void> MemoryStore::Drain(SessionId id, const std::string& project) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.session.state == SessionState::kDead ||
      (!project.empty() && found->second.session.project != project)) {
    return NoSuchSession(id);
  }
  found->second.session.state = SessionState::kDraining;
  return {};
}

void MemoryStore::LoseLease(const Lease& lease, Reaped& reaped) {
  Chunk& chunk = jobs_.at(lease.chunk.job).chunks[lease.chunk.chunk].chunk;
  const LossMasks masks = LossesOf(chunk, lease.mine);
  Bits exhausted(chunk.length());
  for (const int offset : (masks.twice | masks.more).Indexes()) {
    const std::int64_t item = chunk.first_item + offset;
    ItemTry& item_try = tries_[{lease.chunk.job, item}];
    item_try.job = lease.chunk.job;
    item_try.item = item;
    item_try.lost = masks.twice.Get(offset) ? 2 : item_try.lost + 1;
    if (item_try.lost >= limits::kMaxLost) exhausted.Set(offset);
  }
  const Bits ended = ApplyLoss(chunk, masks, exhausted);
  if (ended.Any()) {
    reports_[{lease.id, kReaperSeq}] = Report{
        lease.id, kReaperSeq, lease.chunk, lease.round, ReportKind::kLostLimit, ended, ended, {}};
  }
  reaped.items_lost += lease.mine.Count();
  reaped.items_failed += ended.Count();
}

Result<Reaped> MemoryStore::Reap(int limit) {
  const std::lock_guard lock(mutex_);
  Reaped reaped;
  std::set<JobId> jobs;
  for (auto& [id, row] : sessions_) {
    if (static_cast<int>(reaped.sessions.size()) == limit) break;
    if (row.session.state == SessionState::kDead || row.expires_us >= clock_us_()) continue;
    row.session.state = SessionState::kDead;
    row.dead_us = clock_us_();
    reaped.sessions.push_back(id);
    for (auto it = leases_.begin(); it != leases_.end();) {
      if (it->second.session != id) {
        ++it;
        continue;
      }
      LoseLease(it->second, reaped);
      jobs.insert(it->second.chunk.job);
      it = leases_.erase(it);
    }
  }
  reaped.jobs.assign(jobs.begin(), jobs.end());
  return reaped;
}

}  // namespace tidemill
