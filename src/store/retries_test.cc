// SPDX-License-Identifier: Apache-2.0
#include "store/retries.h"

#include <gtest/gtest.h>

#include "model/retry.h"

namespace tidemill {
namespace {

constexpr SessionId kHere{1, 1}, kThere{2, 2};
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
using Picked = std::vector<std::size_t>;

Lease Under(SessionId session, std::int64_t memory_bytes = 0) {
  Lease lease;
  lease.session = session;
  lease.memory_bytes = memory_bytes;
  return lease;
}

Ask Wants(int items, std::int64_t room = 0) { return {{1}, items, {}, 0, room}; }

TEST(PickRetries, TakesTheOneThatIsDueLongestAndOthersLikeIt) {
  const std::vector<DueItem> due = {{.item = 5, .chunk = 0},
                                    {.item = 70, .chunk = 1},
                                    {.item = 6, .chunk = 0, .memory_bytes = kGiB},
                                    {.item = 2, .chunk = 0}};
  EXPECT_EQ(PickRetries(due, Wants(8), kHere), (Picked{0, 3}));
  EXPECT_EQ(PickRetries(due, Wants(1), kHere), Picked{0});
  EXPECT_EQ(PickRetries(due, Wants(0), kHere), Picked{});
  EXPECT_EQ(PickRetries(due, Wants(-1), kHere), Picked{});
  EXPECT_EQ(PickRetries({}, Wants(8), kHere), Picked{});
}

TEST(PickRetries, TakesNoMoreThanALeaseOfRetriesMayHold) {
  const std::vector<DueItem> due(40);
  EXPECT_EQ(PickRetries(due, Wants(40), kHere).size(), static_cast<std::size_t>(kRetriesPerLease));
}

TEST(PickRetries, LeavesWhatNeedsMoreThanThereIsRoomFor) {
  const std::vector<DueItem> due = {{.item = 1, .memory_bytes = 4 * kGiB},
                                    {.item = 2, .memory_bytes = 2 * kGiB}};
  EXPECT_EQ(PickRetries(due, Wants(8, 2 * kGiB), kHere), Picked{1});
  EXPECT_EQ(PickRetries(due, Wants(8, kGiB), kHere), Picked{});
  EXPECT_EQ(PickRetries(due, Wants(8), kHere), Picked{0});
}

TEST(PickRetries, LeavesAFailureToOthersForAWhile) {
  std::vector<DueItem> due = {{.item = 1, .blamed = kHere}};
  EXPECT_EQ(PickRetries(due, Wants(8), kHere), Picked{});
  EXPECT_EQ(PickRetries(due, Wants(8), kThere), Picked{0});
  due[0].overdue = kPreferOthers;
  EXPECT_EQ(PickRetries(due, Wants(8), kHere), Picked{0});
}

TEST(PickRetries, TakesASuspectAlone) {
  std::vector<DueItem> due = {{.item = 1}, {.item = 2, .suspect = true}, {.item = 3}};
  EXPECT_EQ(PickRetries(due, Wants(8), kHere), (Picked{0, 2}));
  due[0].suspect = true;
  EXPECT_EQ(PickRetries(due, Wants(8), kHere), Picked{0});
}

TEST(LargestRoom, IsWithoutLimitIfOneOfThemSaysNothing) {
  const Ask small = Wants(1, kGiB), large = Wants(1, 2 * kGiB), any = Wants(1);
  EXPECT_EQ(LargestRoom({&small, &large}), 2 * kGiB);
  EXPECT_GT(LargestRoom({&small, &any}), std::int64_t{1} << 62);
}

TEST(CountFailure, EndsWithTheRetriesOrAtOnce) {
  const RetryRules rules{.retries = 1, .wait = std::chrono::seconds(1)};
  const Lease lease = Under(kHere);
  TryRow row;
  const auto wait = CountFailure(row, rules, lease, false);
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(*wait, RetryWait(rules.wait, 1, 0));
  EXPECT_EQ(row.blamed, kHere);
  EXPECT_EQ(CountFailure(row, rules, lease, false), std::nullopt);
  EXPECT_EQ(row.counts.attempts, 2);
  TryRow other;
  EXPECT_EQ(CountFailure(other, rules, lease, true), std::nullopt);
  EXPECT_EQ(other.counts.attempts, 1);
}

TEST(CountOutOfMemory, DoublesWhatItHadUpToTheMostAndNoFurther) {
  const RetryRules rules{.memory_bytes = kGiB, .memory_max = 3 * kGiB};
  TryRow row;
  EXPECT_EQ(CountOutOfMemory(row, rules, Under(kHere)), Duration::zero());
  EXPECT_EQ(row.counts.memory_bytes, 2 * kGiB);
  EXPECT_EQ(CountOutOfMemory(row, rules, Under(kHere, 2 * kGiB)), Duration::zero());
  EXPECT_EQ(row.counts.memory_bytes, 3 * kGiB);
  EXPECT_EQ(CountOutOfMemory(row, rules, Under(kHere, 3 * kGiB)), std::nullopt);
  EXPECT_EQ(row.counts.steps, 3);
  EXPECT_EQ(row.counts.attempts, 0);
  EXPECT_EQ(row.blamed, SessionId{});
  // Without a limit of its own there is nothing to give more of.
  EXPECT_EQ(CountOutOfMemory(row, {}, Under(kHere)), std::nullopt);
}

TEST(BlamedBy, IsAnotherSessionThanTheOneThatSucceeded) {
  TryRow row;
  EXPECT_EQ(BlamedBy(row, Under(kHere)), SessionId{});
  row.blamed = kHere;
  EXPECT_EQ(BlamedBy(row, Under(kHere)), SessionId{});
  EXPECT_EQ(BlamedBy(row, Under(kThere)), kHere);
}

}  // namespace
}  // namespace tidemill
