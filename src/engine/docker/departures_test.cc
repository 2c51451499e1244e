// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/departures.h"

#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace tidemill {
namespace {

TEST(Departures, WhoComesWaitsForThoseWhoLeave) {
  SeededRandom random(1);
  VirtualLoop loop(random);
  Departures departures(loop);
  int started = 0;
  const auto start = [&started] { ++started; };
  departures.AfterThese(start);
  EXPECT_EQ(started, 1) << "nobody leaves";

  const int a = 0;
  const int b = 0;
  const int later = 0;
  departures.Begin(&a);
  departures.Begin(&b);
  departures.AfterThese(start);
  departures.Begin(&later);
  departures.End(&a);
  EXPECT_EQ(started, 1) << "one is still there";
  departures.End(&b);
  EXPECT_EQ(started, 2) << "and those who left later do not count";
  departures.End(&b);
  EXPECT_EQ(started, 2);
}

TEST(Departures, OneThatNeverGoesHoldsNobodyUpForEver) {
  SeededRandom random(1);
  VirtualLoop loop(random);
  Departures departures(loop);
  int started = 0;
  const int stuck = 0;
  departures.Begin(&stuck);
  departures.AfterThese([&started] { ++started; });
  const TimePoint begin = loop.Now();
  while (loop.Step()) {
  }
  EXPECT_EQ(started, 1);
  EXPECT_EQ(loop.Now() - begin, std::chrono::seconds(10));
  departures.End(&stuck);
  EXPECT_EQ(started, 1) << "once";
}

}  // namespace
}  // namespace tidemill
