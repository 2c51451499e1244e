// SPDX-License-Identifier: Apache-2.0
#include "arrivals/bucket.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Items = std::vector<Arrival>;

WatchedBucket Bucket() {
  return {.place = {.kind = ObjectUrl::Kind::kS3, .bucket = "in"},
          .root = "s3://in/",
          .wants = [](const std::string& key) { return key.starts_with("a"); }};
}

TEST(WatchedBucket, AListingAndAMessageMakeTheSameItem) {
  const Items expected = {{"s3://in/a b.png", "s3://in/a b.png#d41d-3"}};
  EXPECT_EQ(ItemsOf(Bucket(), {ListedObject{"a b.png", "\"d41d-3\""}}).items, expected);
  EXPECT_EQ(ItemsOf(Bucket(), ArrivalMessage{.objects = {{"in", "a b.png", "d41d-3"}}}).items,
            expected);
}

TEST(WatchedBucket, PassesOverWhatIsNotAskedFor) {
  const ArrivalMessage message{
      .objects = {{"other", "a1", "x"}, {"in", "b", "x"}, {"in", "a/", "x"}, {"in", "a2", "x"}}};
  EXPECT_EQ(ItemsOf(Bucket(), message).items, (Items{{"s3://in/a2", "s3://in/a2#x"}}));
  EXPECT_EQ(ItemsOf(Bucket(), {ListedObject{"b", "x"}, ListedObject{"a/", "x"}}).items, Items{});
}

TEST(WatchedBucket, CountsKeysThatCanBeNoItem) {
  const FoundItems found = ItemsOf(Bucket(), {ListedObject{"a\n", "x"}, ListedObject{"a\xff", "x"},
                                              ListedObject{"b\n", "x"}, ListedObject{"a", "x"}});
  EXPECT_EQ(found.unfit, 2);
  EXPECT_EQ(found.items, (Items{{"s3://in/a", "s3://in/a#x"}}));
}

}  // namespace
}  // namespace tidemill
