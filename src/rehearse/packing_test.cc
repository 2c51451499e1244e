// SPDX-License-Identifier: Apache-2.0
#include "rehearse/packing.h"

#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::seconds;

TEST(Packing, EachSlotTakesTheNextItem) {
  const std::vector<Duration> lengths = {seconds(5), seconds(1), seconds(1), seconds(9)};
  const Packing packing =
      PackItems(4, 2, [&](std::int64_t item) { return lengths[static_cast<std::size_t>(item)]; });
  EXPECT_EQ(packing.work, seconds(16));
  EXPECT_EQ(packing.bound, seconds(8));
  EXPECT_EQ(packing.ideal, seconds(11));  // the last begins at 2
}

TEST(Packing, MoreSlotsThanItems) {
  const Packing packing = PackItems(3, 10, [](std::int64_t) { return seconds(4); });
  EXPECT_EQ(packing.ideal, seconds(4));
  EXPECT_EQ(PackItems(0, 1, [](std::int64_t) { return seconds(4); }).ideal, Duration::zero());
}

}  // namespace
}  // namespace tidemill
