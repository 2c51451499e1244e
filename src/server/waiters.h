// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>

#include "server/deps.h"

namespace tidemill {

// Agents that have nothing to do and have asked to be told when to sync. A wait says no more than
// 'sync now', so losing one is harmless: the agent syncs at its next heartbeat anyway. Loop thread
// only.
class Waiters {
 public:
  Waiters(ServerDeps deps, Duration longest_wait) : deps_(deps), longest_wait_(longest_wait) {}
  ~Waiters();

  // Answers true: sync now; false: nothing came, ask again. A second wait of a session ends its
  // first.
  void Wait(SessionId session, Duration at_most, Reply<bool> reply);
  // Wakes those that `could_use` it, the longest waiting first, at most `count`.
  void Wake(std::int64_t count, const std::function<bool(SessionId)>& could_use);
  // Answers whether it waited.
  bool WakeOne(SessionId session) { return Answer(session, true); }
  // Nobody hears the answer any more.
  void Forget(SessionId session) { Answer(session, false); }
  // Answers all with 'nothing came'.
  void Stop();
  bool empty() const { return order_.empty(); }
  std::size_t size() const { return order_.size(); }

 private:
  struct Waiter {
    Reply<bool> reply;
    TimerId timer = TimerId::kNone;
    std::list<SessionId>::iterator place;
  };
  bool Answer(SessionId session, bool sync_now);

  const ServerDeps deps_;
  const Duration longest_wait_;
  bool stopped_ = false;
  std::list<SessionId> order_;
  std::map<SessionId, Waiter> waiters_;
};

}  // namespace tidemill
