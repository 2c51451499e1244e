// SPDX-License-Identifier: Apache-2.0
#include "lease/size.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/limits.h"

namespace tidemill {
namespace {

TEST(LeaseItems, AreOneASlotUntilDurationsAreKnown) {
  EXPECT_EQ(LeaseItems({.slots = 8, .item_ms = {}, .free_items = 1'000'000, .agents = 10}), 8);
}

TEST(LeaseItems, AreFifteenSecondsOfWorkOnceDurationsAreKnown) {
  EXPECT_EQ(LeaseItems({.slots = 4, .item_ms = 1000.0, .free_items = 1'000'000, .agents = 10}), 60);
}

TEST(LeaseItems, AreNeverFewerThanTheSlotsForLongItems) {
  EXPECT_EQ(LeaseItems({.slots = 4, .item_ms = 3.6e6, .free_items = 1'000'000, .agents = 10}), 4);
}

TEST(LeaseItems, AreTheAgentsShareTowardTheEnd) {
  EXPECT_EQ(LeaseItems({.slots = 4, .item_ms = 100.0, .free_items = 25, .agents = 10}), 3);
  EXPECT_EQ(LeaseItems({.slots = 4, .item_ms = 100.0, .free_items = 1, .agents = 10}), 1);
}

TEST(LeaseItems, AreNoneForAnAgentWithoutRoom) {
  EXPECT_EQ(LeaseItems({.slots = 0, .item_ms = 100.0, .free_items = 100, .agents = 1}), 0);
}

TEST(LeaseItems, FitInAChunkWhateverIsAsked) {
  rc::check([] {
    const LeaseNeed need{.slots = *rc::gen::inRange<std::int64_t>(1, 100'000),
                         .item_ms = *rc::gen::inRange(0, 100'000) / 10.0,
                         .free_items = *rc::gen::inRange<std::int64_t>(0, 100'000'000),
                         .agents = *rc::gen::inRange<std::int64_t>(0, 20'000)};
    const int items = LeaseItems(need);
    RC_ASSERT(items >= 1);
    RC_ASSERT(items <= limits::kItemsPerChunk);
  });
}

TEST(ItemTime, FollowsWhatItemsTakeNow) {
  ItemTime time;
  EXPECT_FALSE(time.Mean());
  time.Add(10, 1000);
  EXPECT_DOUBLE_EQ(*time.Mean(), 100);
  for (int i = 0; i < 100; ++i) time.Add(10, 5000);
  EXPECT_NEAR(*time.Mean(), 500, 1);
}

TEST(ItemTime, PassesOverNonsense) {
  ItemTime time;
  time.Add(0, 1000);
  time.Add(-1, 1000);
  time.Add(1, -1000);
  EXPECT_FALSE(time.Mean());
}

}  // namespace
}  // namespace tidemill
