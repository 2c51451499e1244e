// SPDX-License-Identifier: Apache-2.0
// Sessions begin, drain, and end when nobody has heard of them for too long.
#include <algorithm>
#include <set>

#include "model/token.h"
#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

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

Result<void> MemoryStore::PutAside(SessionId id, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.session.state == SessionState::kDead) return {};
  found->second.session.state = SessionState::kDraining;
  found->second.session.aside = reason;
  return {};
}

Result<std::vector<tidemill::Record>> MemoryStore::ListRecords() {
  const std::lock_guard lock(mutex_);
  std::set<std::string> projects;
  for (const auto& [id, row] : sessions_) {
    const bool lives = row.session.state != SessionState::kDead;
    if (lives && row.blamed > 0) projects.insert(row.session.project);
  }
  std::vector<tidemill::Record> records;
  for (const auto& [id, row] : sessions_) {
    const Session& session = row.session;
    if (session.state == SessionState::kDead || !projects.contains(session.project)) continue;
    records.push_back(
        {id, session.project, session.pool, row.attempts, row.blamed, !session.aside.empty()});
  }
  return records;
}

void MemoryStore::LoseLease(const Lease& lease, std::int64_t now_us, Reaped& reaped) {
  Chunk& chunk = jobs_.at(lease.chunk.job).chunks[lease.chunk.chunk].chunk;
  const LossMasks masks = LossesOf(chunk, lease.mine);
  Bits exhausted(chunk.length());
  for (const int offset : (masks.twice | masks.more).Indexes()) {
    ItemTry& counts = TryOf(chunk, offset).counts;
    counts.lost = masks.twice.Get(offset) ? 2 : counts.lost + 1;
    if (counts.lost >= limits::kMaxLost) exhausted.Set(offset);
  }
  const Bits ended = ApplyLoss(chunk, masks, exhausted, lease.tried);
  if (lease.tried) {
    for (const int offset : (lease.mine - ended).Indexes()) TryOf(chunk, offset).due_us = now_us;
  }
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
  const std::int64_t now_us = clock_us_();
  for (auto& [id, row] : sessions_) {
    if (static_cast<int>(reaped.sessions.size()) == limit) break;
    if (row.session.state == SessionState::kDead || row.expires_us >= now_us) continue;
    row.session.state = SessionState::kDead;
    row.dead_us = now_us;
    reaped.sessions.push_back(id);
    for (auto it = leases_.begin(); it != leases_.end();) {
      if (it->second.session != id) {
        ++it;
        continue;
      }
      LoseLease(it->second, now_us, reaped);
      jobs.insert(it->second.chunk.job);
      it = leases_.erase(it);
    }
  }
  reaped.jobs.assign(jobs.begin(), jobs.end());
  return reaped;
}

}  // namespace tidemill
