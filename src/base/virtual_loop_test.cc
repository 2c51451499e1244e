// SPDX-License-Identifier: Apache-2.0
#include "base/virtual_loop.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::seconds;

class VirtualLoopTest : public ::testing::Test {
 protected:
  void RunAll() {
    while (loop_.Step()) {
    }
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  std::vector<int> ran_;
};

TEST_F(VirtualLoopTest, RunsWhatIsDueInTheOrderOfTime) {
  loop_.After(seconds(2), [this] { ran_.push_back(2); });
  loop_.After(seconds(1), [this] { ran_.push_back(1); });
  RunAll();
  EXPECT_EQ(ran_, (std::vector{1, 2}));
  EXPECT_EQ(loop_.Now().time_since_epoch(), seconds(2));
}

TEST_F(VirtualLoopTest, DoesNotRunWhatWasCancelled) {
  const TimerId timer = loop_.After(seconds(1), [this] { ran_.push_back(1); });
  loop_.Cancel(timer);
  loop_.Cancel(timer);
  RunAll();
  EXPECT_TRUE(ran_.empty());
}

TEST_F(VirtualLoopTest, ATimerThatIsOverCancelsNoLaterOne) {
  const TimerId first = loop_.After(seconds(1), [this] { ran_.push_back(1); });
  ASSERT_TRUE(loop_.Step());
  loop_.After(seconds(1), [this] { ran_.push_back(2); });
  loop_.Cancel(first);
  RunAll();
  EXPECT_EQ(ran_, (std::vector{1, 2}));
}

TEST_F(VirtualLoopTest, WhatACancelledCallHeldIsGoneAtOnce) {
  const auto held = std::make_shared<int>(1);
  const TimerId timer = loop_.After(seconds(1), [held] {});
  EXPECT_EQ(held.use_count(), 2);
  loop_.Cancel(timer);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(loop_.Step());
  EXPECT_EQ(loop_.Now(), TimePoint{});
}

TEST_F(VirtualLoopTest, ManyCancelledOnesDisturbNoOrder) {
  std::vector<TimerId> timers;
  for (int i = 0; i < 10'000; ++i) {
    timers.push_back(loop_.After(seconds(10'000 - i), [this, i] { ran_.push_back(i); }));
  }
  for (int i = 0; i < 10'000; ++i) {
    if (i % 1000 != 0) loop_.Cancel(timers[static_cast<std::size_t>(i)]);
  }
  RunAll();
  EXPECT_EQ(ran_, (std::vector{9000, 8000, 7000, 6000, 5000, 4000, 3000, 2000, 1000, 0}));
}

TEST_F(VirtualLoopTest, ChoosesTheOrderOfOneMomentBySeed) {
  const auto order_of = [](std::uint64_t seed) {
    SeededRandom random(seed);
    VirtualLoop loop(random);
    std::vector<int> order;
    for (int i = 0; i < 20; ++i) loop.After(seconds(1), [&order, i] { order.push_back(i); });
    while (loop.Step()) {
    }
    return order;
  };
  EXPECT_EQ(order_of(1), order_of(1));
  EXPECT_NE(order_of(1), order_of(2));
}

TEST_F(VirtualLoopTest, AWorkerThatIsDroppedTakesWhatIsUnderWayWithIt) {
  auto worker = std::make_unique<VirtualWorker>(loop_, random_);
  worker->Run([this] { ran_.push_back(1); }, [this] { ran_.push_back(2); });
  ASSERT_TRUE(loop_.Step());
  worker.reset();
  RunAll();
  EXPECT_EQ(ran_, (std::vector{1}));
}

}  // namespace
}  // namespace tidemill
