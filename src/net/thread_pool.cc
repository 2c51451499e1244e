// SPDX-License-Identifier: Apache-2.0
#include "net/thread_pool.h"

#include <utility>

#include "base/check.h"

namespace tidemill {

ThreadPool::ThreadPool(AsioLoop& loop, int threads) : loop_(loop) {
  TIDEMILL_CHECK(threads > 0);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(std::function<void()> work, std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(work), std::move(done)});
  }
  wake_.notify_one();
}

void ThreadPool::Serve() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task.work();
    task.work = nullptr;
    loop_.Post(std::move(task.done));
  }
}

}  // namespace tidemill
