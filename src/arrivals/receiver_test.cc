// SPDX-License-Identifier: Apache-2.0
#include "arrivals/receiver.h"

#include <gtest/gtest.h>

#include "arrivals/fake_queue.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class ReceiverTest : public ::testing::Test {
 protected:
  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }
  void Put(int messages) {
    for (int i = 0; i < messages; ++i) queue_.Put({.objects = {{"b", "k", "v"}}});
  }

  SeededRandom random_{5};
  VirtualLoop loop_{random_};
  FakeQueue queue_{loop_};
  int changes_ = 0;
  Receiver receiver_{loop_, queue_, [this] { ++changes_; }};
};

TEST_F(ReceiverTest, OneCallWaitsWhereNothingArrives) {
  receiver_.SetOpen(true);
  RunFor(seconds(190));
  EXPECT_EQ(queue_.most_calls, 1);
  EXPECT_EQ(queue_.received, 10);
  EXPECT_EQ(changes_, 0);
  EXPECT_TRUE(receiver_.was_answered());
}

TEST_F(ReceiverTest, GivesWhatComesOnce) {
  Put(3);
  receiver_.SetOpen(true);
  RunFor(seconds(1));
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(receiver_.Take().size(), 3U);
  EXPECT_EQ(receiver_.Take().size(), 0U);
}

TEST_F(ReceiverTest, MoreCallsAreMadeWhileMuchArrivesAndNoMoreThanItsLimit) {
  Put(900);
  receiver_.SetOpen(true);
  RunFor(seconds(60));
  EXPECT_EQ(queue_.most_calls, Receiver::kCallsMost);
  EXPECT_EQ(receiver_.Take().size(), 900U);
  queue_.most_calls = 0;
  RunFor(seconds(60));
  EXPECT_EQ(queue_.most_calls, 1);
}

TEST_F(ReceiverTest, HoldsNoMoreThanItsLimitAndGoesOnWhenItIsTaken) {
  Put(3000);
  receiver_.SetOpen(true);
  RunFor(seconds(60));
  EXPECT_GE(receiver_.held(), Receiver::kHeldMost);
  EXPECT_LT(receiver_.held(), Receiver::kHeldMost + 10 * Receiver::kCallsMost);
  std::size_t all = 0;
  for (int i = 0; i < 4; ++i) {
    all += receiver_.Take().size();
    RunFor(seconds(60));
  }
  EXPECT_EQ(all, 3000U);
}

TEST_F(ReceiverTest, AsksForNothingWhileItIsClosed) {
  Put(3);
  RunFor(seconds(60));
  EXPECT_EQ(queue_.received, 0);
  receiver_.SetOpen(true);
  receiver_.SetOpen(false);
  Put(30);
  RunFor(seconds(60));
  EXPECT_EQ(queue_.received, 1);
  EXPECT_EQ(receiver_.Take().size(), 10U);
}

TEST_F(ReceiverTest, AsksLessAndLessOftenWhatFailsAndTellsWhy) {
  queue_.broken = Error{Code::kUnavailable, "away"};
  receiver_.SetOpen(true);
  RunFor(seconds(64));  // 1 + 2 + 4 + 8 + 16 + 30
  EXPECT_EQ(queue_.received, 7);
  EXPECT_EQ(receiver_.trouble()->reason, "away");
  EXPECT_FALSE(receiver_.was_answered());
  EXPECT_EQ(changes_, queue_.received);
  queue_.broken.reset();
  Put(1);
  RunFor(seconds(60));
  EXPECT_FALSE(receiver_.trouble());
  EXPECT_EQ(receiver_.Take().size(), 1U);
}

}  // namespace
}  // namespace tidemill
