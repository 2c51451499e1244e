// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/loop.h"

namespace tidemill {

// Containers that are being ended, which use what they had until they are gone. Whoever is to have
// their place waits for them, so that a machine never gives the same memory twice. Loop thread
// only.
class Departures {
 public:
  explicit Departures(Loop& loop) : loop_(loop) {}

  void Begin(const void* who) { leaving_.insert(who); }
  void End(const void* who) {
    if (leaving_.erase(who) == 0) return;
    std::vector<Waiting> ready;
    std::erase_if(waiting_, [&](Waiting& one) {
      one.whom.erase(who);
      if (!one.whom.empty()) return false;
      ready.push_back(std::move(one));
      return true;
    });
    for (Waiting& one : ready) {
      loop_.Cancel(one.limit);
      one.then();
    }
  }

  // Calls `then`, perhaps at once, when all that are leaving now are gone.
  void AfterThese(std::function<void()> then) {
    if (leaving_.empty()) return then();
    const int number = ++last_;
    const TimerId limit = loop_.After(kMost, [this, number] { GiveUp(number); });
    waiting_.push_back({number, leaving_, limit, std::move(then)});
  }

 private:
  // An Engine that cannot get rid of one must not keep all others from starting.
  static constexpr Duration kMost = std::chrono::seconds(10);
  struct Waiting {
    int number = 0;
    std::set<const void*> whom;
    TimerId limit = TimerId::kNone;
    std::function<void()> then;
  };

  void GiveUp(int number) {
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
      if (one->number != number) continue;
      const std::function<void()> then = std::move(one->then);
      waiting_.erase(one);
      return then();
    }
  }

  Loop& loop_;
  std::set<const void*> leaving_;
  std::vector<Waiting> waiting_;
  int last_ = 0;
};

}  // namespace tidemill
