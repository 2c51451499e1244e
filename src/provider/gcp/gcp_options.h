// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/loop.h"
#include "base/wall.h"

namespace tidemill {

struct GcpOptions {
  // What an operation's state, and a group's, is asked for in between.
  Duration poll = std::chrono::seconds(1);
  // A call that makes, ends or prepares is answered by then, whatever Google is still doing.
  Duration limit = std::chrono::seconds(20);
  // A look is good for so long; the shorter time while machines are made or ended. Google counts
  // calls, and a list is asked for each second.
  Duration keep = std::chrono::seconds(5);
  Duration keep_busy = std::chrono::seconds(1);
  // The wait before the n-th further try is random, up to this times 2^n.
  std::chrono::milliseconds retry_wait{500};
  std::function<TimePoint()> clock = [] {  // since 1970
    return TimePoint(std::chrono::milliseconds(WallMs()));
  };
};

}  // namespace tidemill
