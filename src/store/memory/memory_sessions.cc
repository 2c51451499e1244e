// SPDX-License-Identifier: Apache-2.0
// Sessions begin, drain, and end when nobody has heard of them for too long.
#include <algorithm>
#include <set>

#include "base/planted.h"
#include "model/machine_name.h"
#include "model/token.h"
#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

SessionTokens MemoryStore::TokensOf(const SessionRow& row) const {
  return {row.token, row.next_token, Duration(clock_us_() - row.token_us)};
}

bool MemoryStore::IsLeaving(const NewSession& session) const {
  const auto number = MachineNumber(session.pool, session.machine);
  if (!number) return false;
  const auto found = machine_rows_.find({session.project, session.pool, *number});
  return found != machine_rows_.end() && found->second.ordered && found->second.IsLeaving();
}

Result<Session> MemoryStore::Join(const NewSession& session) {
  const std::lock_guard lock(mutex_);
  const std::string key = HashToken(session.machine_key);
  if (sessions_.Find(session.id) != nullptr) {
    SessionRow& row = sessions_.At(session.id);
    if (row.machine_key != key || !IsSamePlace(row.session, session)) {
      return OtherMachineKey(session.machine);
    }
    Session found = row.session;
    if (row.token.empty()) found.state = SessionState::kDead;
    if (found.state != SessionState::kDead) row.next_token = HashToken(session.token);
    return found;
  }
  const SessionTable::Live& others =
      sessions_.LiveOn(session.project, session.pool, session.machine);
  for (const auto& [id, row] : others) {
    if (row->machine_key != key) return OtherMachineKey(session.machine);
  }
  for (const auto& [id, row] : others) {
    row->expires_us = std::min(row->expires_us, clock_us_() - 1);
    row->token.clear();
    row->next_token.clear();
  }
  SessionRow& row =
      sessions_.Add({session.id, session.machine, session.project, session.pool, session.shape,
                     IsLeaving(session) ? SessionState::kDraining : SessionState::kAlive});
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
  const SessionRow* const live = sessions_.FindLive(pass.session);
  if (live == nullptr || !IsGood(TokensOf(*live), HashToken(pass.token), token_life)) {
    return NotYourPass();
  }
  if (job && !leases_.OwedBy(pass.session).contains(*job)) return NoLeaseOf(*job);
  return live->session;
}

Result<void> MemoryStore::Drain(SessionId id, const std::string& project) {
  const std::lock_guard lock(mutex_);
  SessionRow* const live = sessions_.FindLive(id);
  const bool is_there = live != nullptr && (project.empty() || live->session.project == project);
  if (!is_there) return NoSuchSession(id);
  live->session.state = SessionState::kDraining;
  return {};
}

Result<void> MemoryStore::PutAside(SessionId id, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  SessionRow* const live = sessions_.FindLive(id);
  if (live == nullptr) return {};
  live->session.state = SessionState::kDraining;
  live->session.aside = reason;
  return {};
}

Result<std::vector<tidemill::Record>> MemoryStore::ListRecords() {
  const std::lock_guard lock(mutex_);
  std::set<std::string> projects;
  for (const auto& [id, row] : sessions_.live()) {
    if (row->blamed > 0) projects.insert(row->session.project);
  }
  std::vector<tidemill::Record> records;
  for (const auto& [id, row] : sessions_.live()) {
    const Session& session = row->session;
    if (!projects.contains(session.project)) continue;
    records.push_back(
        {id, session.project, session.pool, row->attempts, row->blamed, !session.aside.empty()});
  }
  return records;
}

void MemoryStore::Bury(SessionRow& row) {
  for (const LeaseId id : leases_.OfSession(row.session.id)) touched_.Add(leases_.At(id).chunk);
  sessions_.Bury(row, clock_us_());
}

void MemoryStore::LoseLease(const Lease& lease, std::int64_t now_us, Reaped& reaped) {
  const Chunk& chunk = ChunkOf(lease.chunk);
  LossMasks masks = LossesOf(chunk, lease.mine);
  if (Planted(Plant::kNoLosses)) {
    masks.once = lease.mine;
    masks.twice = masks.more = Bits(chunk.length());
  }
  Bits exhausted(chunk.length());
  for (const int offset : (masks.twice | masks.more).Indexes()) {
    ItemTry& counts = tries_.Of(chunk, offset).counts;
    counts.lost = masks.twice.Get(offset) ? 2 : counts.lost + 1;
    if (counts.lost >= limits::kMaxLost) exhausted.Set(offset);
  }
  Bits ended;
  Change(lease.chunk, [&](StoredChunk& stored) {
    ended = ApplyLoss(stored.chunk, masks, exhausted, lease.tried);
  });
  if (lease.tried) {
    for (const int offset : (lease.mine - ended).Indexes()) tries_.SetDue(chunk, offset, now_us);
  }
  if (ended.Any()) {
    reports_.Add(
        {lease.id, kReaperSeq, lease.chunk, lease.round, ReportKind::kLostLimit, ended, ended, {}});
  }
  reaped.items_lost += lease.mine.Count();
  reaped.items_failed += ended.Count();
}

Result<Reaped> MemoryStore::Reap(int limit) {
  const std::lock_guard lock(mutex_);
  Reaped reaped;
  std::set<JobId> jobs;
  const std::int64_t now_us = clock_us_();
  for (const auto& [id, row] : sessions_.live()) {
    if (static_cast<int>(reaped.sessions.size()) == limit) break;
    if (row->expires_us < now_us) reaped.sessions.push_back(id);
  }
  if (Planted(Plant::kReapUnlocked)) {
    std::swap(reaped.sessions, seen_over_);
    std::erase_if(reaped.sessions, [this](SessionId id) { return !sessions_.FindLive(id); });
  }
  for (const SessionId id : reaped.sessions) {
    Bury(sessions_.At(id));
    const LeaseTable::Ids leases = leases_.OfSession(id);
    for (const LeaseId lease : leases) {
      LoseLease(leases_.At(lease), now_us, reaped);
      jobs.insert(leases_.At(lease).chunk.job);
      leases_.End(lease);
    }
  }
  reaped.jobs.assign(jobs.begin(), jobs.end());
  return reaped;
}

std::optional<Lease> MemoryStore::FindLease(LeaseId id) {
  const std::lock_guard lock(mutex_);
  const Lease* lease = leases_.Find(id);
  if (lease == nullptr) return std::nullopt;
  return *lease;
}

bool MemoryStore::IsReplaced(SessionId id) {
  const std::lock_guard lock(mutex_);
  const SessionRow* row = sessions_.Find(id);
  return row != nullptr && row->token.empty();
}

}  // namespace tidemill
