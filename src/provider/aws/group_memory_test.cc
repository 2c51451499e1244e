// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_memory.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using State = AwsInstance::State;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kNow{std::chrono::hours(500'000)};

AwsView ViewOf(std::vector<AwsInstance> instances) {
  return {.exists = true, .instances = std::move(instances)};
}
AwsInstance Of(State state, std::optional<TimePoint> ended = {}) {
  return {.id = "i-1", .name = "spot-1", .state = state, .since = kNow, .ended = ended};
}

TEST(GroupMemory, ListsWhatHasANameUntilItHasEnded) {
  GroupMemory memory;
  const auto listed = memory.See(ViewOf({Of(State::kThere), {.id = "i-2"}}), kNow);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].name, "spot-1");
  EXPECT_EQ(listed[0].id, "i-1");
  EXPECT_FALSE(memory.See(ViewOf({Of(State::kEnding)}), kNow + seconds(9))[0].ended);
  EXPECT_TRUE(memory.Ended().empty());
}

TEST(GroupMemory, KeepsAnEndAsItWasFirstSeen) {
  GroupMemory memory;
  const TimePoint end = kNow + minutes(2);
  EXPECT_EQ(memory.See(ViewOf({Of(State::kEnded)}), end)[0].ended, end);
  EXPECT_EQ(memory.See(ViewOf({Of(State::kEnded)}), end + minutes(5))[0].ended, end);
  EXPECT_EQ(memory.See(ViewOf({Of(State::kThere)}), end + minutes(6))[0].ended, end);
  EXPECT_EQ(memory.See(ViewOf({}), end + minutes(59))[0].ended, end);
  EXPECT_EQ(memory.Ended(), std::set<std::string>{"spot-1"});
  EXPECT_TRUE(memory.See(ViewOf({}), end + minutes(61)).empty());
  EXPECT_TRUE(memory.Ended().empty());
}

TEST(GroupMemory, BelievesEc2WhenItTellsTheEndButNotTheFuture) {
  const TimePoint now = kNow + minutes(9);
  const auto end_of = [now](TimePoint told) {
    return GroupMemory().See(ViewOf({Of(State::kEnded, told)}), now)[0].ended;
  };
  EXPECT_EQ(end_of(kNow + minutes(3)), kNow + minutes(3));
  EXPECT_EQ(end_of(now + minutes(1)), now);
  EXPECT_EQ(end_of(kNow - minutes(1)), kNow);
}

TEST(GroupMemory, DoesNotListAnewWhatEndedLongAgo) {
  GroupMemory memory;
  const AwsView view = ViewOf({Of(State::kEnded, kNow + minutes(1))});
  EXPECT_TRUE(memory.See(view, kNow + minutes(62)).empty());
  EXPECT_TRUE(memory.See(view, kNow + minutes(63)).empty());
}

TEST(GroupMemory, WaitsAMinuteForWhatIsNotToldOf) {
  GroupMemory memory;
  memory.See(ViewOf({Of(State::kThere)}), kNow);
  EXPECT_FALSE(memory.See(ViewOf({}), kNow + seconds(60))[0].ended);
  EXPECT_EQ(memory.See(ViewOf({}), kNow + seconds(61))[0].ended, kNow);
}

TEST(GroupMemory, OfTwoWithOneNameItListsTheFirst) {
  AwsInstance second = Of(State::kThere);
  second.id = "i-2";
  GroupMemory memory;
  for (int i = 0; i < 2; ++i) {
    const auto listed = memory.See(ViewOf({Of(State::kThere), second}), kNow + seconds(i));
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].id, "i-1");
  }
}

}  // namespace
}  // namespace tidemill
