// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace tidemill {

// Time that only goes forward. Its zero means nothing: the simulator starts there, a process
// somewhere.
struct MonotonicClock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock, duration>;
  static constexpr bool is_steady = true;
};
using TimePoint = MonotonicClock::time_point;
using Duration = MonotonicClock::duration;

enum class TimerId : std::uint64_t { kNone = 0 };

// The one thread that owns a process's state, as its reactors see it: what time it is, and 'call me
// later'. Loop thread only. Nothing is called from inside After or Cancel.
class Loop {
 public:
  virtual ~Loop() = default;
  virtual TimePoint Now() const = 0;
  // Calls once, not before `delay` has passed; a delay of zero means 'after what is running now'.
  virtual TimerId After(Duration delay, std::function<void()> call) = 0;
  // A timer that has fired, or kNone, is no error. After Cancel the call does not come.
  virtual void Cancel(TimerId timer) = 0;
};

// Carries what blocks (a database, a disk) off the loop thread. Run from the loop thread only.
class Worker {
 public:
  virtual ~Worker() = default;
  // Calls `work` on some other thread, then `done` on the loop thread. Works run in any order.
  virtual void Run(std::function<void()> work, std::function<void()> done) = 0;
};

}  // namespace tidemill
