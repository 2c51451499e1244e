// SPDX-License-Identifier: Apache-2.0
#include "cloud/token_bucket.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

TEST(TokenBucket, LetsABurstPassAndThenOneAfterAnother) {
  TokenBucket bucket(10, 2);
  EXPECT_EQ(bucket.Take(kStart, seconds(9)), Duration::zero());
  EXPECT_EQ(bucket.Take(kStart, seconds(9)), Duration::zero());
  EXPECT_EQ(bucket.Take(kStart, seconds(9)), milliseconds(100));
  EXPECT_EQ(bucket.Take(kStart, seconds(9)), milliseconds(200));
}

TEST(TokenBucket, FillsWithTimeAndNotBeyondItsBurst) {
  TokenBucket bucket(10, 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bucket.Take(kStart, seconds(9)), Duration::zero());
  const TimePoint later = kStart + seconds(60);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bucket.Take(later, seconds(9)), Duration::zero());
  EXPECT_EQ(bucket.Take(later, seconds(9)), milliseconds(100));
}

TEST(TokenBucket, RefusesWhoWouldWaitTooLongAndTakesNothingThen) {
  TokenBucket bucket(10, 1);
  EXPECT_EQ(bucket.Take(kStart, seconds(9)), Duration::zero());
  EXPECT_EQ(bucket.Take(kStart, milliseconds(99)), std::nullopt);
  EXPECT_EQ(bucket.Take(kStart, milliseconds(100)), milliseconds(100));
}

TEST(TokenBucket, UsesNothingOfWhatWasLeftAfterSomebodySaidThatItWasTooOften) {
  TokenBucket bucket(10, 50);
  bucket.Empty(kStart);
  EXPECT_EQ(bucket.Take(kStart, seconds(9)), milliseconds(100));
  // Whoever waits already goes on waiting.
  bucket.Empty(kStart);
  EXPECT_EQ(bucket.Take(kStart, seconds(9)), milliseconds(200));
}

}  // namespace
}  // namespace tidemill
