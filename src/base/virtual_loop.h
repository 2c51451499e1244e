// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

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
  // A call that waits; its place in the table is used again after it.
  struct Slot {
    std::function<void()> call;
    std::uint32_t life = 0;  // how often the slot was used: tells a timer from a later one
  };
  struct Due {
    TimePoint at;
    std::uint64_t order = 0;  // among those of the same moment: random
    std::uint64_t asked = 0;  // among those that are alike even so
    TimerId timer = TimerId::kNone;
  };
  static bool IsLater(const Due& a, const Due& b);
  // Null if it has been called, or cancelled.
  Slot* Find(TimerId timer);
  std::function<void()> Take(Slot& slot);
  void DropCancelled();

  Random& random_;
  TimePoint now_{};
  std::uint64_t asked_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Due> due_;  // a heap, the next one first; with those that were cancelled
  std::size_t cancelled_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  // slots
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
