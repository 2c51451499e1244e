// SPDX-License-Identifier: Apache-2.0
#include "net/asio_loop.h"

#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "net/loop_testing.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(AsioLoop, FiresTimersInTheOrderOfTheirDeadlinesAndNeverEarly) {
  AsioLoop loop;
  loop.StopClock();
  std::string order;
  const auto order_after = [&](Duration time) {
    loop.Skip(time);
    RunWhatIsReady(loop);
    return order;
  };
  loop.After(milliseconds(20), [&] { order += 'c'; });
  loop.After(milliseconds(10), [&] { order += 'b'; });
  loop.After(Duration::zero(), [&] { order += 'a'; });
  EXPECT_EQ(order_after(Duration(9'999)), "a");
  EXPECT_EQ(order_after(Duration(1)), "ab");
  EXPECT_EQ(order_after(Duration(9'999)), "ab");
  EXPECT_EQ(order_after(Duration(1)), "abc");
  // Also those that are due by now all together.
  loop.After(milliseconds(20), [&] { order += 'f'; });
  loop.After(milliseconds(10), [&] { order += 'e'; });
  loop.After(Duration::zero(), [&] { order += 'd'; });
  EXPECT_EQ(order_after(hours(1)), "abcdef");
}

TEST(AsioLoop, WaitsByTheClockOfTheSystem) {
  AsioLoop loop;
  const TimePoint begin = loop.Now();
  loop.After(milliseconds(5), [&] { loop.Stop(); });
  loop.Run();
  EXPECT_GE(loop.Now() - begin, milliseconds(5));
  // Skip moves what waits already, and what comes later waits as long as ever.
  loop.After(hours(1), [&] { loop.Stop(); });
  loop.Skip(hours(1));
  loop.Run();
  EXPECT_GE(loop.Now() - begin, hours(1));
  const TimePoint later = loop.Now();
  loop.After(milliseconds(5), [&] { loop.Stop(); });
  loop.Run();
  EXPECT_GE(loop.Now() - later, milliseconds(5));
}

TEST(AsioLoop, StandsStillAndStillRunsWhatIsReady) {
  AsioLoop loop;
  loop.StopClock();
  const TimePoint begin = loop.Now();
  loop.After(microseconds(1), [] { FAIL(); });
  bool ran = false;
  loop.Post([&] { ran = true; });
  while (loop.Step(milliseconds(5))) {
  }
  EXPECT_TRUE(ran);
  EXPECT_EQ(loop.Now(), begin);
}

TEST(AsioLoop, CallsNothingFromInsideAfter) {
  AsioLoop loop;
  bool is_inside = true;
  loop.After(Duration::zero(), [&] {
    EXPECT_FALSE(is_inside);
    loop.Stop();
  });
  is_inside = false;
  loop.Run();
}

TEST(AsioLoop, DoesNotCallACancelledTimer) {
  AsioLoop loop;
  const TimerId first = loop.After(milliseconds(1), [] { FAIL(); });
  TimerId second = TimerId::kNone;
  loop.After(Duration::zero(), [&] { loop.Cancel(second); });
  second = loop.After(Duration::zero(), [] { FAIL(); });
  loop.Cancel(first);
  loop.Cancel(first);
  loop.Cancel(TimerId::kNone);
  const TimerId fired = loop.After(milliseconds(2), [&] { loop.Stop(); });
  loop.Run();
  loop.Cancel(fired);
}

TEST(AsioLoop, LetsOthersRunBetweenTimersThatMakeEachOther) {
  AsioLoop loop;
  int rounds = 0;
  std::function<void()> again = [&] {
    ++rounds;
    loop.After(Duration::zero(), again);
  };
  again();
  loop.Post([&] { loop.Stop(); });
  loop.Run();
  EXPECT_LE(rounds, 3);
}

TEST(AsioLoop, FiresAnEarlierTimerThatIsMadeLater) {
  AsioLoop loop;
  loop.After(hours(24 * 365 * 1000), [] { FAIL(); });
  loop.After(hours(1), [] { FAIL(); });
  loop.Post([&] { loop.After(milliseconds(5), [&] { loop.Stop(); }); });
  loop.Run();
}

TEST(AsioLoop, CarriesManyThousandsOfTimers) {
  AsioLoop loop;
  constexpr int kTimers = 50'000;
  int fired = 0;
  std::vector<TimerId> timers;
  for (int i = 0; i < kTimers; ++i) {
    timers.push_back(loop.After(microseconds((i * 7919) % 50'000), [&] {
      if (++fired == kTimers / 2) loop.Stop();
    }));
  }
  for (int i = 0; i < kTimers; i += 2) loop.Cancel(timers[i]);
  loop.Run();
  EXPECT_EQ(fired, kTimers / 2);
}

TEST(AsioLoop, RunsWhatOtherThreadsPost) {
  AsioLoop loop;
  int sum = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        loop.Post([&] {
          if (++sum == 4000) loop.Stop();
        });
      }
    });
  }
  loop.Run();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, 4000);
}

TEST(AsioLoop, RemembersAStopThatCameBeforeRunAndRunsAgainAfterIt) {
  AsioLoop loop;
  bool ran = false;
  loop.Post([&] { ran = true; });
  loop.Stop();
  loop.Run();
  EXPECT_FALSE(ran);
  loop.Post([&] { loop.Stop(); });
  loop.Run();
  EXPECT_TRUE(ran);
}

TEST(AsioLoop, HearsSignalsAgainAndAgain) {
  AsioLoop loop;
  std::vector<int> heard;
  loop.OnSignal({SIGUSR1, SIGUSR2}, [&](int signal) {
    heard.push_back(signal);
    if (heard.size() == 2) return loop.Stop();
    raise(SIGUSR2);
  });
  raise(SIGUSR1);
  loop.Run();
  EXPECT_EQ(heard, (std::vector<int>{SIGUSR1, SIGUSR2}));
}

TEST(AsioLoop, DestroysWhatNeverRan) {
  const auto held = std::make_shared<int>(0);
  {
    AsioLoop loop;
    loop.Post([held] {});
    loop.After(hours(1), [held] {});
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tidemill
