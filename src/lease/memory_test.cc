// SPDX-License-Identifier: Apache-2.0
#include "lease/memory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemill {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(MemoryTally, StaysWhereItIsWhileItIsEnough) {
  MemoryTally tally;
  EXPECT_EQ(tally.StartOf(kGiB, 8 * kGiB), kGiB);
  tally.Add({.memory_bytes = kGiB, .succeeded = 97, .ran_out = 3});
  EXPECT_EQ(tally.StartOf(kGiB, 8 * kGiB), kGiB);
}

TEST(MemoryTally, GoesUpWhenMoreThanOneInTwentyNeedMore) {
  MemoryTally tally;
  tally.Add({.memory_bytes = kGiB, .succeeded = 94, .ran_out = 6});
  EXPECT_EQ(tally.StartOf(kGiB, 8 * kGiB), 2 * kGiB);
  EXPECT_EQ(tally.StartOf(4 * kGiB, 8 * kGiB), 4 * kGiB);
}

TEST(MemoryTally, AFewOutliersDecideNothing) {
  MemoryTally tally;
  tally.Add({.memory_bytes = kGiB, .ran_out = 2});
  EXPECT_EQ(tally.StartOf(kGiB, 8 * kGiB), kGiB);
  tally.Add({.memory_bytes = kGiB, .ran_out = 1});
  EXPECT_EQ(tally.StartOf(kGiB, 8 * kGiB), 2 * kGiB);
}

TEST(MemoryTally, ClimbsAsFarAsItemsHaveClimbed) {
  MemoryTally tally;
  tally.Add({.memory_bytes = kGiB, .succeeded = 50, .ran_out = 50});
  tally.Add({.memory_bytes = 2 * kGiB, .tried = true, .succeeded = 10, .ran_out = 40});
  tally.Add({.memory_bytes = 4 * kGiB, .tried = true, .succeeded = 36, .ran_out = 4});
  EXPECT_EQ(tally.StartOf(kGiB, 8 * kGiB), 4 * kGiB);
}

TEST(MemoryTally, NeverGoesAboveTheMost) {
  MemoryTally tally;
  tally.Add({.memory_bytes = kGiB, .ran_out = 10});
  EXPECT_EQ(tally.StartOf(kGiB, kGiB + 5), kGiB + 5);
  tally.Add({.memory_bytes = kGiB + 5, .tried = true, .ran_out = 10});
  EXPECT_EQ(tally.StartOf(kGiB, kGiB + 5), kGiB + 5);
  EXPECT_EQ(tally.StartOf(kGiB, 0), kGiB);
}

RC_GTEST_PROP(MemoryTally, UpwardOnlyAndNeverTooMuch, (std::uint32_t seed)) {
  MemoryTally tally;
  std::int64_t start = 1;
  const std::int64_t most = 1 + seed % 5000;
  for (int i = 0; i < 50; ++i) {
    const auto ran_out = *rc::gen::inRange<std::int64_t>(0, 20);
    const auto succeeded = *rc::gen::inRange<std::int64_t>(0, 100);
    tally.Add({.memory_bytes = start, .succeeded = succeeded, .ran_out = ran_out});
    const std::int64_t next = tally.StartOf(start, most);
    RC_ASSERT(next >= start);
    RC_ASSERT(next <= most);
    start = next;
  }
}

}  // namespace
}  // namespace tidemill
