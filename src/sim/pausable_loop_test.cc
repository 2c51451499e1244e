// SPDX-License-Identifier: Apache-2.0
#include "sim/pausable_loop.h"

#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class PausableLoopTest : public ::testing::Test {
 protected:
  void RunUntil(Duration time) {
    bool over = false;
    base_.After(time - base_.Now().time_since_epoch(), [&over] { over = true; });
    while (!over) base_.Step();
  }
  // Writes down when it was called.
  std::function<void()> Note() {
    return [this] { noted_.push_back(base_.Now().time_since_epoch()); };
  }

  SeededRandom random_{1};
  VirtualLoop base_{random_};
  std::unique_ptr<PausableLoop> loop_ = std::make_unique<PausableLoop>(base_);
  std::vector<Duration> noted_;
};

TEST_F(PausableLoopTest, WhatIsDueWhileItStandsStillComesWhenItGoesOn) {
  loop_->After(seconds(1), Note());
  loop_->After(seconds(3), Note());
  loop_->After(seconds(9), Note());
  RunUntil(seconds(2));
  loop_->Pause();
  RunUntil(seconds(6));
  EXPECT_EQ(noted_, (std::vector<Duration>{seconds(1)}));
  loop_->Resume();
  RunUntil(seconds(10));
  EXPECT_EQ(noted_, (std::vector<Duration>{seconds(1), seconds(6), seconds(9)}));
}

TEST_F(PausableLoopTest, WhatWaitsCanBeCancelled) {
  const TimerId due = loop_->After(seconds(1), Note());
  const TimerId later = loop_->After(seconds(5), Note());
  loop_->Pause();
  RunUntil(seconds(2));
  loop_->Cancel(due);
  loop_->Cancel(later);
  loop_->Resume();
  RunUntil(seconds(10));
  EXPECT_TRUE(noted_.empty());
}

TEST_F(PausableLoopTest, DroppedItCallsNothing) {
  loop_->After(seconds(1), Note());
  loop_.reset();
  RunUntil(seconds(2));
  EXPECT_TRUE(noted_.empty());
}

}  // namespace
}  // namespace tidemill
