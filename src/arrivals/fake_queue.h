// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrivals/arrival_queue.h"
#include "base/loop.h"

namespace tidemill {

// A queue in memory. Loop thread only. Nothing survives.
class FakeQueue : public ArrivalQueue {
 public:
  explicit FakeQueue(Loop& loop) : loop_(loop) {}

  void Put(ArrivalMessage message) {
    message.handle = std::to_string(++put_);
    waiting.push_back(std::move(message));
  }

  void Receive(Done<std::vector<ArrivalMessage>> done) override {
    most_calls = std::max(most_calls, ++calls);
    ++received;
    // Somebody who waits gets what comes meanwhile.
    const Duration wait = waiting.empty() && !broken ? kWait : kNear;
    After(wait, [this, done = std::move(done)] {
      --calls;
      if (broken) return done(tl::unexpected<Error>(*broken));
      std::vector<ArrivalMessage> some;
      while (!waiting.empty() && some.size() < full()) {
        hidden.push_back(waiting.front());
        some.push_back(std::move(waiting.front()));
        waiting.pop_front();
      }
      done(std::move(some));
    });
  }
  void Delete(std::vector<std::string> handles, Done<void> done) override {
    After(kNear, [this, handles = std::move(handles), done = std::move(done)] {
      std::erase_if(hidden, [&](const ArrivalMessage& message) {
        return std::find(handles.begin(), handles.end(), message.handle) != handles.end();
      });
      done({});
    });
  }
  std::size_t full() const override { return 10; }

  // What a test sets and sees.
  std::deque<ArrivalMessage> waiting;
  std::vector<ArrivalMessage> hidden;  // given, and not taken away
  std::optional<Error> broken;
  int calls = 0;
  int most_calls = 0;
  int received = 0;

 private:
  static constexpr Duration kNear = std::chrono::milliseconds(20);
  static constexpr Duration kWait = std::chrono::seconds(20);
  void After(Duration delay, std::function<void()> call) {
    loop_.After(delay, [alive = std::weak_ptr<char>(alive_), call = std::move(call)] {
      if (!alive.expired()) call();
    });
  }

  Loop& loop_;
  int put_ = 0;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
