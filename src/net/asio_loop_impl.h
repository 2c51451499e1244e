// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: no header that others include may include this one, because it includes asio.

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/loop.h"
#include "net/asio_loop.h"

namespace tidemill {

struct AsioLoop::Impl {
  // The order in which timers fire: by deadline, then by age.
  using TimerKey = std::pair<TimePoint, std::uint64_t>;
  struct SignalWatch {
    explicit SignalWatch(boost::asio::io_context& io_context) : signals(io_context) {}
    boost::asio::signal_set signals;
    std::function<void(int)> call;
  };

  Impl();

  TimePoint Now() const;
  // Makes sure that RunDue comes when the first timer is due. Cheap if that is arranged already.
  void Arm();
  void WaitForClock();
  void RunDue();
  void WaitForSignal(SignalWatch& watch);

  // Loop thread only. Before `io`, because what dies with it may still cancel a timer.
  std::map<TimerKey, std::function<void()>> timers;
  std::unordered_map<std::uint64_t, TimePoint> deadlines;  // of exactly the timers in `timers`
  std::uint64_t last_timer = 0;
  // How far Now() is ahead of the system's clock, and where that clock was stopped. Only tests set
  // them.
  Duration skipped{};
  std::optional<TimePoint> stopped_at;

  // Only one thread runs it; that is what the hint says.
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;

  // Loop thread only. One timerfd serves all timers. It is set to `armed_for`, which is never later
  // than the first timer unless `due_posted`. It may be earlier, after a Cancel; then it fires once
  // for nothing.
  boost::asio::posix::stream_descriptor clock;
  TimePoint armed_for = TimePoint::max();
  bool due_posted = false;
  std::list<SignalWatch> signal_watches;

  // All sockets read into this one buffer, one after the other, so that an idle connection needs
  // none. Its content is gone after the next read: nothing may call out of net while it still needs
  // it.
  std::array<char, 65536> scratch;
};

}  // namespace tidemill
