// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/loop.h"

namespace tidemill {

// The real loop: one thread that runs timers, sockets and what other threads post to it. Run,
// After, Cancel and OnSignal belong to one thread; before Run, that is the thread which builds the
// process. Post and Stop may be called from any thread. Nothing survives a restart.
class AsioLoop : public Loop {
 public:
  AsioLoop();
  // What was posted and never ran is destroyed here, on the destroying thread. Whatever uses the
  // loop must be destroyed before it.
  ~AsioLoop() override;

  // Returns after Stop, and at once if Stop was called before. May be called again.
  void Run();
  void Stop();

  void Post(std::function<void()> call);

  // Calls for each arrival of one of the signals, for as long as the loop lives. Signals that come
  // in quick succession may be merged.
  void OnSignal(std::vector<int> signals, std::function<void(int)> call);

  // Goes on while the machine sleeps (CLOCK_BOOTTIME): a lease must not outlive its time because a
  // laptop was shut.
  TimePoint Now() const override;
  TimerId After(Duration delay, std::function<void()> call) override;
  void Cancel(TimerId timer) override;

  // For tests. StopClock makes Now() stand still; timers fire by Skip only from then on.
  void StopClock();
  // For tests. Moves Now() forward, stopped or not. Timers that are due then fire when the loop
  // runs, not from inside.
  void Skip(Duration time);
  // For tests. Runs the next call, instead of Run. Waits for it by the system's clock, also while
  // Now() stands still; false: none has come in this time.
  bool Step(std::chrono::milliseconds wait);

  // For the other files of net only; what it is stands in asio_loop_impl.h.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tidemill
