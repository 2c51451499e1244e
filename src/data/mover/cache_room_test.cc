// SPDX-License-Identifier: Apache-2.0
#include "data/mover/cache_room.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Keys = std::vector<std::string>;

TEST(CacheRoomTest, NothingGoesWhileThereIsRoom) {
  EXPECT_EQ(MakeCacheRoom({}, 10, 10), Keys());
  EXPECT_EQ(MakeCacheRoom({{"a", 4, 1}, {"b", 5, 2}}, 1, 10), Keys());
}

TEST(CacheRoomTest, WhatWasUsedLongestAgoGoesFirstAndNoMoreThanNeeded) {
  const std::vector<CacheItem> items = {{"a", 4, 3}, {"b", 3, 1}, {"c", 3, 2}};
  EXPECT_EQ(MakeCacheRoom(items, 1, 10), Keys{"b"});
  EXPECT_EQ(MakeCacheRoom(items, 4, 10), (Keys{"b", "c"}));
  EXPECT_EQ(MakeCacheRoom(items, 10, 10), (Keys{"b", "c", "a"}));
}

TEST(CacheRoomTest, WhatIsInUseStays) {
  const std::vector<CacheItem> items = {{"a", 4, 1, true}, {"b", 3, 2}, {"c", 3, 3}};
  EXPECT_EQ(MakeCacheRoom(items, 1, 10), Keys{"b"});
  EXPECT_EQ(MakeCacheRoom(items, 6, 10), (Keys{"b", "c"}));
  EXPECT_EQ(MakeCacheRoom(items, 7, 10), std::nullopt);
}

TEST(CacheRoomTest, ABudgetThatHasBecomeSmallerIsKeptTo) {
  EXPECT_EQ(MakeCacheRoom({{"a", 4, 1}, {"b", 5, 2}}, 0, 6), Keys{"a"});
}

}  // namespace
}  // namespace tidemill
