// SPDX-License-Identifier: Apache-2.0
#include "arrivals/said.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Said, KnowsWhatWasSaidAndNothingElse) {
  Said said;
  EXPECT_FALSE(said.Has("s3://in/a#1"));
  said.Add("s3://in/a#1");
  said.Add("s3://in/a#1");
  EXPECT_TRUE(said.Has("s3://in/a#1"));
  EXPECT_FALSE(said.Has("s3://in/a#2"));
  EXPECT_EQ(said.size(), 1U);
  said.Clear();
  EXPECT_FALSE(said.Has("s3://in/a#1"));
}

TEST(Said, DoesNotGrowWithoutEnd) {
  Said said(2);
  for (const char* once : {"a", "b", "c"}) said.Add(once);
  EXPECT_EQ(said.size(), 2U);
  EXPECT_FALSE(said.Has("c"));
}

TEST(ListingTimes, AListingBeginsSoLongAfterTheOneBefore) {
  const TimePoint zero{};
  ListingTimes times(zero, minutes(1));
  EXPECT_EQ(times.next(), zero);
  EXPECT_FALSE(times.Begin(zero));
  times.End(zero + seconds(10));
  EXPECT_EQ(times.next(), zero + minutes(1));
  times.Begin(zero + minutes(1));
  times.End(zero + minutes(5));
  EXPECT_EQ(times.next(), zero + minutes(5));
}

TEST(ListingTimes, WhatBreaksOffIsTriedAgainSoonerThanUsualAndThenLessOften) {
  TimePoint now{};
  ListingTimes times(now, minutes(1));
  for (const int expected : {5, 10, 20, 40, 60, 60}) {
    times.Begin(now);
    times.Break(now);
    EXPECT_EQ(times.next() - now, seconds(expected));
    now = times.next();
  }
  times.Begin(now);
  times.End(now);
  times.Break(now);
  EXPECT_EQ(times.next() - now, seconds(5));
  ListingTimes quick(now, seconds(1));
  quick.Break(now);
  EXPECT_EQ(quick.next() - now, seconds(1));
}

TEST(ListingTimes, AllIsSaidAgainBeforeADayIsOver) {
  TimePoint now{};
  ListingTimes times(now, hours(1));
  int said_all = 0;
  TimePoint last = now;
  for (int listing = 0; listing < 24 * 10; ++listing) {
    if (times.Begin(now)) {
      ++said_all;
      EXPECT_LT(now - last, hours(24));
      last = now;
    }
    times.End(now);
    now = times.next();
  }
  EXPECT_EQ(said_all, 11);
}

}  // namespace
}  // namespace tidemill
