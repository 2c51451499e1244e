// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "net/asio_loop.h"

namespace tidemill {

// A loop that runs on a thread of its own, from Start to the end of this object. What was posted by
// then and has not run does not.
class LoopThread {
 public:
  LoopThread() = default;
  ~LoopThread() { Stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // To be used on its own thread, but for Post; before Start, on whatever thread builds it.
  AsioLoop& loop() { return loop_; }
  void Start() {
    thread_ = std::thread([this] { loop_.Run(); });
  }
  // After it nothing runs there: what was made on that thread may be destroyed.
  void Stop() {
    if (!thread_.joinable()) return;
    loop_.Stop();
    thread_.join();
  }

 private:
  AsioLoop loop_;
  std::thread thread_;
};

}  // namespace tidemill
