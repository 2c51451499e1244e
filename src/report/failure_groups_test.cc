// SPDX-License-Identifier: Apache-2.0
#include "report/failure_groups.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

Outcome Failed(std::int64_t item, std::string error, Cause cause = Cause::kFailed, int exit = 1) {
  Outcome row;
  row.item = item;
  row.cause = cause;
  row.exit = exit;
  row.error = std::move(error);
  return row;
}

TEST(FailureGroupsTest, CountsWhatFailedAlikeTheLargestFirst) {
  FailureGroups groups;
  groups.Add(Failed(90, "b"));
  groups.Add(Failed(3, "a"));
  groups.Add(Failed(17, "b"));
  groups.Add(Failed(5, "c"));
  const FailureSummary summary = groups.Finish();
  EXPECT_EQ(summary.failed, 4);
  EXPECT_FALSE(summary.partial);
  ASSERT_EQ(summary.groups.size(), 3u);
  EXPECT_EQ(summary.groups[0].key.signature, "b");
  EXPECT_EQ(summary.groups[0].count, 2);
  EXPECT_EQ(summary.groups[0].first_items, (std::vector<std::int64_t>{17, 90}));
  EXPECT_EQ(summary.groups[0].example.item, 17);
  EXPECT_EQ(summary.groups[1].key.signature, "a");
  EXPECT_EQ(summary.groups[2].key.signature, "c");
}

TEST(FailureGroupsTest, OneSignatureOfTwoCausesIsTwoGroups) {
  FailureGroups groups;
  groups.Add(Failed(1, "x"));
  groups.Add(Failed(2, "x", Cause::kTimeout));
  EXPECT_EQ(groups.Finish().groups.size(), 2u);
}

TEST(FailureGroupsTest, WithoutASignatureTheCauseIsOne) {
  FailureGroups groups;
  groups.Add(Failed(1, "", Cause::kFailed, 3));
  groups.Add(Failed(2, "", Cause::kFailed, 3));
  groups.Add(Failed(4, "", Cause::kLost));
  const FailureSummary summary = groups.Finish();
  ASSERT_EQ(summary.groups.size(), 2u);
  EXPECT_EQ(summary.groups[0].key.signature, "exit code 3");
  EXPECT_EQ(summary.groups[1].key.signature, "machine lost");
}

TEST(FailureGroupsTest, KeepsTheFirstItemsInAnyOrder) {
  FailureGroups groups;
  for (int item = 20; item > 0; --item) groups.Add(Failed(item, "x", Cause::kFailed, item));
  const FailureGroup group = groups.Finish().groups.at(0);
  EXPECT_EQ(group.first_items, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(group.example.exit, 1);
}

TEST(FailureGroupsTest, AddsUpTheRestWhenThereAreTooManyToShow) {
  FailureGroups groups;
  const auto most = static_cast<int>(FailureGroups::kShown);
  for (int item = 0; item < most + 50; ++item) groups.Add(Failed(item, std::to_string(item)));
  const FailureSummary summary = groups.Finish();
  EXPECT_EQ(summary.groups.size(), FailureGroups::kShown);
  EXPECT_EQ(summary.rest_groups, 50);
  EXPECT_EQ(summary.rest_items, 50);
  EXPECT_FALSE(summary.partial);
}

TEST(FailureGroupsTest, FindsTheLargeOnesAmongAMillionThatDiffer) {
  FailureGroups groups;
  constexpr int kItems = 200'000;
  for (int item = 0; item < kItems; ++item) {
    groups.Add(Failed(item, item % 3 == 0 ? "common" : "rare " + std::to_string(item)));
  }
  const FailureSummary summary = groups.Finish();
  EXPECT_EQ(summary.failed, kItems);
  EXPECT_TRUE(summary.partial);
  EXPECT_EQ(summary.groups.at(0).key.signature, "common");
  EXPECT_EQ(summary.groups.at(0).count, (kItems + 2) / 3);
  std::int64_t all = summary.rest_items;
  for (const FailureGroup& group : summary.groups) all += group.count;
  EXPECT_EQ(all, kItems);
}

}  // namespace
}  // namespace tidemill
