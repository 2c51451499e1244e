// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_memory.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using State = AwsInstance::State;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kFirstSeen{std::chrono::hours(500'000)};

AwsView SeenView(std::vector<AwsInstance> instances) {
  return {.exists = true, .instances = std::move(instances)};
}
AwsInstance InstanceIn(State state, std::optional<TimePoint> ended = {}) {
  return {.id = "i-1", .name = "spot-1", .state = state, .since = kFirstSeen, .ended = ended};
}

TEST(GroupMemory, ListsWhatHasANameUntilItHasEnded) {
  GroupMemory memory;
  const auto listed = memory.See(SeenView({InstanceIn(State::kThere), {.id = "i-2"}}), kFirstSeen);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].name, "spot-1");
  EXPECT_EQ(listed[0].id, "i-1");
  EXPECT_FALSE(
      memory.See(SeenView({InstanceIn(State::kEnding)}), kFirstSeen + seconds(9))[0].ended);
  EXPECT_TRUE(memory.Ended().empty());
}

TEST(GroupMemory, KeepsAnEndAsItWasFirstSeen) {
  GroupMemory memory;
  const TimePoint end = kFirstSeen + minutes(2);
  EXPECT_EQ(memory.See(SeenView({InstanceIn(State::kEnded)}), end)[0].ended, end);
  EXPECT_EQ(memory.See(SeenView({InstanceIn(State::kEnded)}), end + minutes(5))[0].ended, end);
  EXPECT_EQ(memory.See(SeenView({InstanceIn(State::kThere)}), end + minutes(6))[0].ended, end);
  EXPECT_EQ(memory.See(SeenView({}), end + minutes(59))[0].ended, end);
  EXPECT_EQ(memory.Ended(), std::set<std::string>{"spot-1"});
  EXPECT_TRUE(memory.See(SeenView({}), end + minutes(61)).empty());
  EXPECT_TRUE(memory.Ended().empty());
}

TEST(GroupMemory, BelievesEc2WhenItTellsTheEndButNotTheFuture) {
  const TimePoint now = kFirstSeen + minutes(9);
  const auto end_of = [now](TimePoint told) {
    return GroupMemory().See(SeenView({InstanceIn(State::kEnded, told)}), now)[0].ended;
  };
  EXPECT_EQ(end_of(kFirstSeen + minutes(3)), kFirstSeen + minutes(3));
  EXPECT_EQ(end_of(now + minutes(1)), now);
  EXPECT_EQ(end_of(kFirstSeen - minutes(1)), kFirstSeen);
}

TEST(GroupMemory, DoesNotListAnewWhatEndedLongAgo) {
  GroupMemory memory;
  const AwsView view = SeenView({InstanceIn(State::kEnded, kFirstSeen + minutes(1))});
  EXPECT_TRUE(memory.See(view, kFirstSeen + minutes(62)).empty());
  EXPECT_TRUE(memory.See(view, kFirstSeen + minutes(63)).empty());
}

TEST(GroupMemory, WaitsAMinuteForWhatIsNotToldOf) {
  GroupMemory memory;
  memory.See(SeenView({InstanceIn(State::kThere)}), kFirstSeen);
  EXPECT_FALSE(memory.See(SeenView({}), kFirstSeen + seconds(60))[0].ended);
  EXPECT_EQ(memory.See(SeenView({}), kFirstSeen + seconds(61))[0].ended, kFirstSeen);
}

TEST(GroupMemory, OfTwoWithOneNameItListsTheFirst) {
  AwsInstance second = InstanceIn(State::kThere);
  second.id = "i-2";
  GroupMemory memory;
  for (int i = 0; i < 2; ++i) {
    const auto listed =
        memory.See(SeenView({InstanceIn(State::kThere), second}), kFirstSeen + seconds(i));
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].id, "i-1");
  }
}

}  // namespace
}  // namespace tidemill
