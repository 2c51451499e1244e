// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "arrivals/arrival_queue.h"
#include "base/loop.h"

namespace tidemill {

// Waits at a queue and holds what comes until somebody takes it. One call waits where little
// arrives, more while each comes back full. What fails is asked again after a wait that grows. Loop
// thread only. Nothing survives a restart: what was not taken away comes again.
class Receiver {
 public:
  static constexpr int kCallsMost = 4;
  // A call of the server takes as many objects, and most messages have one.
  static constexpr std::size_t kHeldMost = 1'000;
  static constexpr Duration kFirstWait = std::chrono::seconds(1);
  static constexpr Duration kLongestWait = std::chrono::seconds(30);

  // Both outlive it. `on_change` is called when there are messages or a trouble, never from inside
  // a call.
  Receiver(Loop& loop, ArrivalQueue& queue, std::function<void()> on_change);
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // While it is closed no further call is made: each time that a message comes counts for the
  // queue's rule about those that nobody can use. It begins closed.
  void SetOpen(bool open);
  std::vector<ArrivalMessage> Take();

  std::size_t held() const { return held_.size(); }
  // Why the last call failed; nothing: it did not.
  const std::optional<Error>& trouble() const { return trouble_; }
  bool was_answered() const { return was_answered_; }  // at least once

 private:
  void Pump();
  void OnAnswer(Result<std::vector<ArrivalMessage>> got);

  // Constant after construction.
  Loop& loop_;
  ArrivalQueue& queue_;
  const std::function<void()> on_change_;

  // Loop thread only.
  std::vector<ArrivalMessage> held_;
  std::optional<Error> trouble_;
  bool is_open_ = false;
  bool was_answered_ = false;
  bool waits_ = false;  // after a failure
  int calls_ = 0;
  int calls_wanted_ = 1;
  Duration wait_ = kFirstWait;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
