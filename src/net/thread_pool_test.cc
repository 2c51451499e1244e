// SPDX-License-Identifier: Apache-2.0
#include "net/thread_pool.h"

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(ThreadPool, WorksElsewhereAndIsDoneOnTheLoopThread) {
  AsioLoop loop;
  ThreadPool pool(loop, 2);
  const auto here = std::this_thread::get_id();
  int value = 0;
  pool.Run(
      [&] {
        EXPECT_NE(std::this_thread::get_id(), here);
        value = 7;
      },
      [&] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        EXPECT_EQ(value, 7);
        loop.Stop();
      });
  loop.Run();
}

TEST(ThreadPool, WorksInParallel) {
  AsioLoop loop;
  ThreadPool pool(loop, 3);
  std::latch all_there(3);  // would wait for ever on fewer threads
  int done = 0;
  for (int i = 0; i < 3; ++i) {
    pool.Run([&] { all_there.arrive_and_wait(); },
             [&] {
               if (++done == 3) loop.Stop();
             });
  }
  loop.Run();
}

TEST(ThreadPool, DestroysTheWorkBeforeDoneRuns) {
  AsioLoop loop;
  ThreadPool pool(loop, 1);
  auto held = std::make_shared<int>(0);
  std::weak_ptr<int> weak = held;
  pool.Run([held = std::move(held)] {},
           [&] {
             EXPECT_TRUE(weak.expired());
             loop.Stop();
           });
  loop.Run();
}

TEST(ThreadPool, FinishesWhatItWasGivenWhenDestroyed) {
  AsioLoop loop;
  std::atomic<int> worked = 0;
  int done = 0;
  {
    ThreadPool pool(loop, 2);
    for (int i = 0; i < 1000; ++i) pool.Run([&] { ++worked; }, [&] { ++done; });
  }
  EXPECT_EQ(worked, 1000);
  EXPECT_EQ(done, 0);
  loop.Post([&] { loop.Stop(); });
  loop.Run();
  EXPECT_EQ(done, 1000);
}

}  // namespace
}  // namespace tidemill
