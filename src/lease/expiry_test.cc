// SPDX-License-Identifier: Apache-2.0
#include "lease/expiry.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::seconds;

constexpr Duration kLife = seconds(60);

class ExpiryGuardTest : public ::testing::Test {
 protected:
  // The store answers every second, its clock in step.
  void Hear(int count) {
    for (int i = 0; i < count; ++i) {
      now_ += seconds(1);
      clock_us_ += 1'000'000;
      guard_.Heard(now_, clock_us_);
    }
  }

  TimePoint now_{};
  std::int64_t clock_us_ = 1'000'000'000;
  ExpiryGuard guard_{now_, kLife};
};

TEST_F(ExpiryGuardTest, LetsNothingExpireInTheFirstSessionLifeOfAServer) {
  Hear(59);
  EXPECT_FALSE(guard_.MayReap(now_));
  Hear(1);
  EXPECT_TRUE(guard_.MayReap(now_));
}

TEST_F(ExpiryGuardTest, LetsNothingExpireWhileTheStoreIsSilent) {
  Hear(100);
  now_ += seconds(16);
  EXPECT_FALSE(guard_.MayReap(now_));
}

TEST_F(ExpiryGuardTest, LetsNothingExpireForAWholeSessionLifeAfterAnOutage) {
  Hear(100);
  now_ += seconds(120);
  clock_us_ += 120'000'000;
  guard_.Heard(now_, clock_us_);
  EXPECT_FALSE(guard_.MayReap(now_));
  Hear(59);
  EXPECT_FALSE(guard_.MayReap(now_));
  Hear(1);
  EXPECT_TRUE(guard_.MayReap(now_));
}

TEST_F(ExpiryGuardTest, LetsNothingExpireForAWholeSessionLifeAfterAJumpOfTheClock) {
  Hear(100);
  clock_us_ += 3'600'000'000;
  Hear(1);
  EXPECT_FALSE(guard_.MayReap(now_));
  Hear(60);
  EXPECT_TRUE(guard_.MayReap(now_));
  clock_us_ -= 3'600'000'000;
  Hear(1);
  EXPECT_FALSE(guard_.MayReap(now_));
}

TEST_F(ExpiryGuardTest, LetsNothingExpireForAWholeSessionLifeAfterSyncsHaveFailed) {
  Hear(100);
  guard_.Postpone(now_);
  Hear(59);
  EXPECT_FALSE(guard_.MayReap(now_));
  Hear(1);
  EXPECT_TRUE(guard_.MayReap(now_));
}

}  // namespace
}  // namespace tidemill
