// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: a real loop is run until something is so, or for what is ready; never for a time.

#include <chrono>
#include <functional>

#include <gtest/gtest.h>

#include "net/asio_loop.h"

namespace tidemill {

// Runs the loop until `is_true`, which is evaluated after each call of the loop; for a minute of
// real time at most, whatever the loop's clock does.
inline void RunLoopUntil(AsioLoop& loop, const std::function<bool()>& is_true) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_true()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "the test hangs";
    loop.Step(std::chrono::milliseconds(2));
  }
}

// Lets everything that is ready have its turns, the sockets as well: for what must not happen.
// Bytes that were sent on this machine are ready at once.
inline void RunWhatIsReady(AsioLoop& loop) {
  for (int turn = 0; turn < 1000; ++turn) {
    bool is_over = false;
    loop.Post([&] { is_over = true; });
    RunLoopUntil(loop, [&] { return is_over; });
  }
}

}  // namespace tidemill
