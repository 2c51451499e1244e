// SPDX-License-Identifier: Apache-2.0
#include "server/rates.h"

#include <chrono>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Rates::Rate kTwo{.per_second = 2, .burst = 4};

TEST(Rates, ABurstThenSoManyASecond) {
  Rates rates;
  const TimePoint now{seconds(100)};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rates.Take("a", kTwo, now));
  EXPECT_FALSE(rates.Has("a", kTwo, now));
  EXPECT_FALSE(rates.Take("a", kTwo, now));
  EXPECT_FALSE(rates.Take("a", kTwo, now + milliseconds(400)));
  EXPECT_TRUE(rates.Take("a", kTwo, now + milliseconds(600)));
  EXPECT_FALSE(rates.Take("a", kTwo, now + milliseconds(700)));
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += rates.Take("a", kTwo, now + seconds(60)) ? 1 : 0;
  EXPECT_EQ(taken, 4);
}

TEST(Rates, EachNameHasItsOwn) {
  Rates rates;
  const TimePoint now{seconds(100)};
  while (rates.Take("a", kTwo, now)) {
  }
  EXPECT_TRUE(rates.Has("b", kTwo, now));
  EXPECT_TRUE(rates.Take("b", kTwo, now));
}

TEST(Rates, NeverGrowsWithoutEnd) {
  Rates rates;
  const TimePoint now{seconds(100)};
  for (int i = 0; i < 50'000; ++i) rates.Take(std::to_string(i), kTwo, now + milliseconds(i));
  EXPECT_LE(rates.size(), 10'000u);
}

}  // namespace
}  // namespace tidemill
