// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/loop.h"

namespace tidemill {

// The loop of one process or machine, which can stand still while the time of all others goes on:
// what is due meanwhile comes when it goes on. Dropped, it takes what is not due yet with it.
class PausableLoop : public Loop {
 public:
  explicit PausableLoop(Loop& loop) : state_(std::make_shared<State>(loop)) {}
  ~PausableLoop() override { state_->dropped = true; }

  TimePoint Now() const override { return state_->loop.Now(); }

  TimerId After(Duration delay, std::function<void()> call) override {
    const TimerId own{++state_->last};
    state_->timers[own] = {.call = std::move(call), .is_due = false};
    // Not the state itself: what waits in it may own this loop.
    state_->loop.After(delay, [weak = std::weak_ptr<State>(state_), own] {
      if (const auto state = weak.lock()) Due(*state, own);
    });
    return own;
  }

  void Cancel(TimerId timer) override { state_->timers.erase(timer); }

  bool paused() const { return state_->paused; }
  void Pause() { state_->paused = true; }
  void Resume() {
    if (!std::exchange(state_->paused, false)) return;
    for (const auto& [own, timer] : state_->timers) {
      if (!timer.is_due) continue;
      state_->loop.After(Duration::zero(), [weak = std::weak_ptr<State>(state_), id = own] {
        if (const auto state = weak.lock()) Due(*state, id);
      });
    }
  }

 private:
  struct Timer {
    std::function<void()> call;
    bool is_due = false;
  };
  struct State {
    explicit State(Loop& of) : loop(of) {}
    Loop& loop;
    bool paused = false;
    bool dropped = false;
    std::uint64_t last = 0;
    std::map<TimerId, Timer> timers;
  };

  static void Due(State& state, TimerId own) {
    const auto found = state.timers.find(own);
    if (found == state.timers.end() || state.dropped) return;
    if (state.paused) {
      found->second.is_due = true;
      return;
    }
    const std::function<void()> call = std::move(found->second.call);
    state.timers.erase(found);
    call();
  }

  const std::shared_ptr<State> state_;
};

}  // namespace tidemill
