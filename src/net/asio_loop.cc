// SPDX-License-Identifier: Apache-2.0
#include "net/asio_loop.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/check.h"
#include "net/asio_loop_impl.h"

namespace tidemill {
namespace {

TimePoint BootTime() {
  timespec now{};
  TIDEMILL_CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
  return TimePoint(std::chrono::seconds(now.tv_sec) +
                   std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(now.tv_nsec)));
}

int OpenClock() {
  const int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  TIDEMILL_CHECK(fd >= 0);  // at start only: a process that gets no descriptor here cannot work
  return fd;
}

}  // namespace

AsioLoop::Impl::Impl() : work(io.get_executor()), clock(io, OpenClock()) { WaitForClock(); }

TimePoint AsioLoop::Impl::Now() const { return stopped_at.value_or(BootTime()) + skipped; }

void AsioLoop::Impl::Arm() {
  if (timers.empty() || due_posted) return;
  const TimePoint first = timers.begin()->first.first;
  if (first <= Now()) {
    // No system call for what is due already.
    due_posted = true;
    boost::asio::post(io, [this] {
      due_posted = false;
      RunDue();
    });
    return;
  }
  if (first >= armed_for || stopped_at) return;
  const auto since_boot = first.time_since_epoch() - skipped;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
  itimerspec at{};
  at.it_value.tv_sec = seconds.count();
  at.it_value.tv_nsec = std::chrono::nanoseconds(since_boot - seconds).count();
  TIDEMILL_CHECK(timerfd_settime(clock.native_handle(), TFD_TIMER_ABSTIME, &at, nullptr) == 0);
  armed_for = first;
}

void AsioLoop::Impl::WaitForClock() {
  clock.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& error) {
                     if (error) return;  // the loop is being destroyed
                     std::uint64_t times = 0;
                     // Nothing to read means that the clock was set anew since: still to come.
                     if (read(clock.native_handle(), &times, sizeof times) == sizeof times) {
                       armed_for = TimePoint::max();
                     }
                     WaitForClock();
                     RunDue();
                   });
}

void AsioLoop::Impl::RunDue() {
  const TimePoint now = Now();
  // A timer made by a call of this round waits for the next, or two that make each other would keep
  // the sockets waiting for ever.
  const std::uint64_t newest = last_timer;
  while (!timers.empty()) {
    const auto first = timers.begin();
    if (first->first.first > now || first->first.second > newest) break;
    auto call = std::move(first->second);
    deadlines.erase(first->first.second);
    timers.erase(first);
    call();
  }
  Arm();
}

void AsioLoop::Impl::WaitForSignal(SignalWatch& watch) {
  watch.signals.async_wait([this, &watch](const boost::system::error_code& error, int signal) {
    if (error) return;
    WaitForSignal(watch);
    watch.call(signal);
  });
}

AsioLoop::AsioLoop() : impl_(std::make_unique<Impl>()) {}

AsioLoop::~AsioLoop() {
  // What the timers' calls hold may be sockets, which must go before the io_context does.
  const auto timers = std::exchange(impl_->timers, {});
  impl_->deadlines.clear();
}

void AsioLoop::Run() {
  impl_->io.run();
  impl_->io.restart();  // here and not before: a Stop that came before Run must not be forgotten
}

void AsioLoop::Stop() { impl_->io.stop(); }

void AsioLoop::Post(std::function<void()> call) { boost::asio::post(impl_->io, std::move(call)); }

void AsioLoop::OnSignal(std::vector<int> signals, std::function<void(int)> call) {
  auto& watch = impl_->signal_watches.emplace_back(impl_->io);
  watch.call = std::move(call);
  for (const int signal : signals) watch.signals.add(signal);
  impl_->WaitForSignal(watch);
}

TimePoint AsioLoop::Now() const { return impl_->Now(); }

void AsioLoop::StopClock() {
  if (!impl_->stopped_at) impl_->stopped_at = BootTime();
}

void AsioLoop::Skip(Duration time) {
  impl_->skipped += time;
  impl_->armed_for = TimePoint::max();
  impl_->Arm();
}

bool AsioLoop::Step(std::chrono::milliseconds wait) {
  const bool ran = impl_->io.run_one_for(wait) > 0;
  if (impl_->io.stopped()) impl_->io.restart();
  return ran;
}

TimerId AsioLoop::After(Duration delay, std::function<void()> call) {
  // A deadline beyond a century would overflow and fire at once.
  constexpr Duration kLongest = std::chrono::hours(24 * 365 * 100);
  const TimePoint deadline = impl_->Now() + std::clamp(delay, Duration::zero(), kLongest);
  const std::uint64_t id = ++impl_->last_timer;
  impl_->timers.emplace(Impl::TimerKey(deadline, id), std::move(call));
  impl_->deadlines.emplace(id, deadline);
  if (impl_->timers.begin()->first.second == id) impl_->Arm();
  return TimerId{id};
}

void AsioLoop::Cancel(TimerId timer) {
  const auto id = static_cast<std::uint64_t>(timer);
  const auto found = impl_->deadlines.find(id);
  if (found == impl_->deadlines.end()) return;
  // The call is destroyed last: what it holds may cancel another timer on its way out.
  const auto node = impl_->timers.extract(Impl::TimerKey(found->second, id));
  impl_->deadlines.erase(found);
}

}  // namespace tidemill
