// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/thread_pool.h"

namespace tidemill {

// Asks the system for the addresses of names that strangers have chosen, and whose servers may be
// slow on purpose: on threads of its own, so that nobody else's names wait for them. Loop thread
// only.
class NameFinder {
 public:
  using Done = std::function<void(Result<std::vector<std::string>>)>;

  NameFinder(AsioLoop& loop, int threads) : loop_(loop), pool_(loop, threads) {}
  // Waits for the questions that are being asked.
  ~NameFinder() { ending_ = true; }

  // In numbers, each once. kUnavailable: there are none, or too many were asked before.
  void Find(const std::string& name, Done done);

 private:
  AsioLoop& loop_;
  std::atomic<bool> ending_ = false;
  ThreadPool pool_;
};

}  // namespace tidemill
