// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "model/session.h"

namespace tidemill {

struct SessionRow {
  Session session;
  std::int64_t expires_us = 0;
  std::int64_t joined_us = 0;
  std::int64_t seen_us = 0;
  std::optional<MachineStatus> status;
  std::int64_t dead_us = 0;
  std::string machine_key;  // hashes
  std::string token;        // empty: its machine has joined anew
  std::string next_token;
  std::int64_t token_us = 0;
  std::string address;
  std::int64_t attempts = 0;
  std::int64_t blamed = 0;
};

// The sessions, and those of them that are not dead: the dead are kept for a day, and outnumber
// them. Its owner's lock guards it.
class SessionTable {
 public:
  using Live = std::map<SessionId, SessionRow*>;
  using Place = std::tuple<std::string, std::string, std::string>;  // project, pool, machine
  using Places = std::map<Place, Live, std::less<>>;

  // By id.
  std::vector<Session> All() const;
  // Nothing, if there is none; of the others, also if it is dead.
  const SessionRow* Find(SessionId id) const;
  const SessionRow* FindLive(SessionId id) const;
  SessionRow* FindLive(SessionId id);
  SessionRow& At(SessionId id) { return rows_.at(id); }
  const SessionRow& At(SessionId id) const { return rows_.at(id); }
  const Live& live() const { return live_; }
  const Places& places() const { return places_; }
  const Live& LiveOn(const std::string& project, const std::string& pool,
                     const std::string& machine) const;

  SessionRow& Add(const Session& session);
  void Bury(SessionRow& row, std::int64_t now_us);
  // Those that died before. Answers how many.
  std::int64_t DropDead(std::int64_t before_us);

 private:
  // Found by every exchange, and gone through only where the order does not matter.
  std::unordered_map<SessionId, SessionRow> rows_;
  Live live_;      // of rows_
  Places places_;  // of live_; none is empty
};

}  // namespace tidemill
