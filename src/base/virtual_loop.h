// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/loop.h"
#include "base/random.h"

namespace tidemill {

// Time that passes only when nothing is left to do now. What is due at the same moment runs in an
// order that the seed chooses, not in that of asking.
class VirtualLoop : public Loop {
 public:
  explicit VirtualLoop(Random& random) : random_(random) {}
  TimePoint Now() const override { return now_; }
  TimerId After(Duration delay, std::function<void()> call) override;
  void Cancel(TimerId timer) override;

  // Runs what is due next; false if there is nothing.
  bool Step();
  std::uint64_t steps() const { return steps_; }

 private:
  using Place = std::pair<TimePoint, std::uint64_t>;  // the second is random
  struct Due {
    TimerId timer;
    std::function<void()> call;
  };
  Random& random_;
  TimePoint now_{};
  std::uint64_t next_timer_ = 0;
  std::uint64_t steps_ = 0;
  std::multimap<Place, Due> due_;
  std::map<TimerId, std::multimap<Place, Due>::iterator> places_;
};

// Runs a server's store calls as they would run on other threads: later, and in any order. Dropped,
// it takes what is under way with it, done or not: a crash.
class VirtualWorker : public Worker {
 public:
  VirtualWorker(Loop& loop, Random& random) : loop_(loop), random_(random) {}
  void Run(std::function<void()> work, std::function<void()> done) override;

 private:
  Loop& loop_;
  Random& random_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
