// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/loop.h"
#include "net/asio_loop.h"

namespace tidemill {

// A fixed number of threads for what blocks. The queue has no limit of its own: the caller must
// bound how many works it has under way, because only the caller knows what to answer when there is
// no room.
class ThreadPool : public Worker {
 public:
  ThreadPool(AsioLoop& loop, int threads);
  // Finishes every work that was given, which may take long. Their `done` are posted to the loop
  // and come only if it still runs.
  ~ThreadPool() override;

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // `work` is destroyed on its thread, before `done` runs; `done` is destroyed on the loop thread.
  // So what must not leave the loop thread may be held by `done`, and never by `work`.
  void Run(std::function<void()> work, std::function<void()> done) override;

 private:
  struct Task {
    std::function<void()> work;
    std::function<void()> done;
  };
  void Serve();

  // Constant after construction.
  AsioLoop& loop_;
  // Any thread, under `mutex_`.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;
  bool ending_ = false;
  // Last, so that the threads start when the rest is there.
  std::vector<std::thread> threads_;
};

}  // namespace tidemill
