// SPDX-License-Identifier: Apache-2.0
#include "server/waiters.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tidemill {

Waiters::~Waiters() {
  for (const auto& [session, waiter] : waiters_) deps_.loop.Cancel(waiter.timer);
}

void Waiters::Wait(SessionId session, Duration at_most, Reply<bool> reply) {
  if (stopped_) return reply(false);
  Answer(session, false);
  Waiter& waiter = waiters_[session];
  waiter.reply = std::move(reply);
  waiter.place = order_.insert(order_.end(), session);
  waiter.timer = deps_.loop.After(std::min(at_most, longest_wait_),
                                  [this, session] { Answer(session, false); });
}

bool Waiters::Answer(SessionId session, bool sync_now) {
  const auto found = waiters_.find(session);
  if (found == waiters_.end()) return false;
  Waiter waiter = std::move(found->second);
  order_.erase(waiter.place);
  waiters_.erase(found);
  deps_.loop.Cancel(waiter.timer);
  waiter.reply(sync_now);
  return true;
}

void Waiters::Wake(std::int64_t count, const std::function<bool(SessionId)>& could_use) {
  std::vector<SessionId> chosen;
  for (const SessionId& session : order_) {
    if (static_cast<std::int64_t>(chosen.size()) >= count) break;
    if (could_use(session)) chosen.push_back(session);
  }
  for (const SessionId& session : chosen) Answer(session, true);
}

void Waiters::Stop() {
  stopped_ = true;
  while (!order_.empty()) Answer(order_.front(), false);
}

}  // namespace tidemill
