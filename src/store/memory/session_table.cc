// SPDX-License-Identifier: Apache-2.0
#include "store/memory/session_table.h"

#include <algorithm>

namespace tidemill {

const SessionRow* SessionTable::Find(SessionId id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

const SessionRow* SessionTable::FindLive(SessionId id) const {
  const SessionRow* const row = Find(id);
  return row == nullptr || row->session.state == SessionState::kDead ? nullptr : row;
}

SessionRow* SessionTable::FindLive(SessionId id) {
  const auto found = rows_.find(id);
  if (found == rows_.end() || found->second.session.state == SessionState::kDead) return nullptr;
  return &found->second;
}

std::vector<Session> SessionTable::All() const {
  std::vector<Session> sessions;
  sessions.reserve(rows_.size());
  for (const auto& [id, row] : rows_) sessions.push_back(row.session);
  std::sort(sessions.begin(), sessions.end(),
            [](const Session& a, const Session& b) { return a.id < b.id; });
  return sessions;
}

const SessionTable::Live& SessionTable::LiveOn(const std::string& project, const std::string& pool,
                                               const std::string& machine) const {
  static const Live kNone;
  const auto found = places_.find(std::tie(project, pool, machine));
  return found == places_.end() ? kNone : found->second;
}

SessionRow& SessionTable::Add(const Session& session) {
  SessionRow& row = rows_[session.id];
  row.session = session;
  live_[session.id] = &row;
  places_[{session.project, session.pool, session.machine}][session.id] = &row;
  return row;
}

void SessionTable::Bury(SessionRow& row, std::int64_t now_us) {
  const Session& session = row.session;
  row.session.state = SessionState::kDead;
  row.dead_us = now_us;
  live_.erase(session.id);
  const auto found = places_.find(std::tie(session.project, session.pool, session.machine));
  if (found == places_.end()) return;
  found->second.erase(session.id);
  if (found->second.empty()) places_.erase(found);
}

std::int64_t SessionTable::DropDead(std::int64_t before_us) {
  const auto dropped = std::erase_if(rows_, [before_us](const auto& entry) {
    const SessionRow& row = entry.second;
    return row.session.state == SessionState::kDead && row.dead_us < before_us;
  });
  return static_cast<std::int64_t>(dropped);
}

}  // namespace tidemill
