// SPDX-License-Identifier: Apache-2.0
#include "base/virtual_loop.h"

#include <algorithm>

namespace tidemill {

TimerId VirtualLoop::After(Duration delay, std::function<void()> call) {
  const TimerId timer{++next_timer_};
  const Place place{now_ + std::max(delay, Duration::zero()), random_.Next()};
  places_[timer] = due_.emplace(place, Due{timer, std::move(call)});
  return timer;
}

void VirtualLoop::Cancel(TimerId timer) {
  const auto found = places_.find(timer);
  if (found == places_.end()) return;
  due_.erase(found->second);
  places_.erase(found);
}

bool VirtualLoop::Step() {
  if (due_.empty()) return false;
  const auto next = due_.begin();
  now_ = next->first.first;
  Due due = std::move(next->second);
  places_.erase(due.timer);
  due_.erase(next);
  ++steps_;
  due.call();
  return true;
}

void VirtualWorker::Run(std::function<void()> work, std::function<void()> done) {
  const auto some_time = [this] {
    return Duration(static_cast<std::int64_t>(random_.Below(8000)));
  };
  const std::weak_ptr<char> alive = alive_;
  loop_.After(some_time(),
              [this, alive, some_time, work = std::move(work), done = std::move(done)]() mutable {
                if (alive.expired()) return;
                work();
                loop_.After(some_time(), [alive, done = std::move(done)] {
                  if (!alive.expired()) done();
                });
              });
}

}  // namespace tidemill
