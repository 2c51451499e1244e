// SPDX-License-Identifier: Apache-2.0
#include "model/retry.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::seconds;

TEST(RetryWait, DoublesUpToTheLongest) {
  for (std::int64_t item = 0; item < 100; ++item) {
    Duration most = seconds(10);
    for (std::int32_t attempts = 1; attempts < 100; ++attempts) {
      const Duration wait = RetryWait(seconds(10), attempts, item);
      EXPECT_GE(wait, most / 2);
      EXPECT_LE(wait, most);
      EXPECT_EQ(wait, RetryWait(seconds(10), attempts, item));
      most = std::min<Duration>(2 * most, kLongestRetryWait);
    }
  }
}

TEST(RetryWait, IsNothingIfNothingIsAskedForAndNeverLongerThanTheLongest) {
  EXPECT_EQ(RetryWait({}, 5, 7), Duration::zero());
  EXPECT_EQ(RetryWait(seconds(-5), 5, 7), Duration::zero());
  EXPECT_LE(RetryWait(std::chrono::hours(10), 1, 7), kLongestRetryWait);
}

TEST(RetryWait, SpreadsItemsThatFailedTogether) {
  std::set<Duration> waits;
  for (std::int64_t item = 0; item < 1000; ++item) waits.insert(RetryWait(seconds(10), 1, item));
  EXPECT_GT(waits.size(), 990u);
  EXPECT_LT(*waits.begin(), seconds(5) + std::chrono::milliseconds(100));
  EXPECT_GT(*waits.rbegin(), seconds(10) - std::chrono::milliseconds(100));
}

TEST(NextMemory, DoublesUpToTheMostAndNeverShrinks) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(NextMemory(2, 16), 4);
  EXPECT_EQ(NextMemory(10, 16), 16);
  EXPECT_EQ(NextMemory(16, 16), 16);
  EXPECT_EQ(NextMemory(16, 0), 16);
  EXPECT_EQ(NextMemory(0, 16), 0);
  EXPECT_EQ(NextMemory(kMost - 1, kMost), kMost);
}

}  // namespace
}  // namespace tidemill
