// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using State = AwsInstance::State;
using Place = AwsInstance::Place;
using Names = std::vector<std::string>;
using std::chrono::minutes;

constexpr TimePoint kPlannedAt{std::chrono::hours(500'000)};

AwsInstance Member(const std::string& id, const std::string& name = "") {
  return {.id = id, .name = name, .place = Place::kMember, .since = kPlannedAt};
}
AwsView GroupView(std::vector<AwsInstance> instances, std::int64_t max = 10) {
  AwsView view{.exists = true, .ours = true, .max = max, .instances = std::move(instances)};
  view.target = MembersOf(view);
  return view;
}

TEST(PlanMake, GivesWhatHasNoNameToWhatIsMissingTheOldestFirst) {
  AwsView view = GroupView({Member("i-1"), Member("i-2"), Member("i-3", "spot-1")});
  view.instances[0].since += minutes(1);
  const AwsMakePlan plan = PlanMake(view, {"spot-10", "spot-9", "spot-1", "spot-11"}, {});
  EXPECT_EQ(plan.name, (std::vector<AwsNaming>{{"i-2", "spot-9"}, {"i-1", "spot-10"}}));
  EXPECT_EQ(plan.missing, Names{"spot-11"});
  EXPECT_EQ(plan.target, 4);
  EXPECT_TRUE(plan.refused.empty());
}

TEST(PlanMake, DecidesAlikeWhateverTheOrderOfWhatItIsTold) {
  AwsView view = GroupView({Member("i-1"), Member("i-2"), Member("i-3")});
  Names wanted = {"spot-1", "spot-2", "spot-3", "spot-4"};
  const AwsMakePlan first = PlanMake(view, wanted, {});
  std::reverse(view.instances.begin(), view.instances.end());
  std::reverse(wanted.begin(), wanted.end());
  const AwsMakePlan second = PlanMake(view, wanted, {});
  EXPECT_EQ(first.name, second.name);
  EXPECT_EQ(first.missing, second.missing);
}

TEST(PlanMake, MakesNothingThatWasThereOnce) {
  AwsView view = GroupView({Member("i-1", "spot-1"), Member("i-2", "spot-2")});
  view.instances[1].state = State::kEnded;
  view.instances[1].place = Place::kOutside;
  const AwsMakePlan plan = PlanMake(view, {"spot-1", "spot-2", "spot-3", "spot-3"}, {"spot-3"});
  EXPECT_TRUE(plan.missing.empty());
  EXPECT_TRUE(plan.name.empty());
}

TEST(PlanMake, NamesOnlyWhatRunsInTheGroup) {
  AwsView view = GroupView({Member("i-1"), Member("i-2"), Member("i-3"), Member("i-4")});
  view.instances[0].state = State::kUnknown;
  view.instances[1].state = State::kEnding;
  view.instances[2].place = Place::kOutside;
  view.instances[3].place = Place::kLeaving;
  const AwsMakePlan plan = PlanMake(view, {"spot-1"}, {});
  EXPECT_TRUE(plan.name.empty());
  EXPECT_EQ(plan.missing, Names{"spot-1"});
  EXPECT_EQ(plan.target, 1);
}

TEST(PlanMake, CountsForTheTargetWhatHasANameAndRuns) {
  AwsView view =
      GroupView({Member("i-1", "spot-1"), Member("i-2", "spot-2"), Member("i-3", "spot-3")});
  view.instances[1].place = Place::kLeaving;
  view.instances[2].state = State::kEnded;
  EXPECT_EQ(PlanMake(view, {"spot-4", "spot-5"}, {}).target, 3);
}

TEST(PlanMake, NeverGoesAboveTheMaximum) {
  const AwsView view = GroupView({Member("i-1", "spot-1"), Member("i-2")}, 3);
  const AwsMakePlan plan = PlanMake(view, {"spot-2", "spot-3", "spot-4", "spot-5"}, {});
  EXPECT_EQ(plan.target, 3);
  EXPECT_EQ(plan.name, (std::vector<AwsNaming>{{"i-2", "spot-2"}}));
  EXPECT_EQ(plan.missing, Names{"spot-3"});
  EXPECT_EQ(plan.refused, (Names{"spot-4", "spot-5"}));
  // It may have been lowered below what is there.
  EXPECT_EQ(PlanMake(GroupView({Member("i-1", "a"), Member("i-2", "b")}, 1), {"c"}, {}).refused,
            Names{"c"});
}

TEST(PlanEnd, EndsWhatHasTheNamesAndIsNotGoingAlready) {
  AwsView view = GroupView({Member("i-1", "a"), Member("i-2", "b"), Member("i-3", "c"),
                            Member("i-4", "d"), Member("i-5")});
  view.instances[1].place = Place::kOutside;
  view.instances[2].place = Place::kLeaving;
  const AwsEndPlan plan = PlanEnd(view, {"a", "b", "c", "x", ""});
  EXPECT_EQ(plan.in_group, Names{"i-1"});
  EXPECT_EQ(plan.outside, Names{"i-2"});
}

TEST(PlanTidy, LeavesAHealthyPoolInPeace) {
  AwsView view = GroupView({Member("i-1", "a"), Member("i-2", "b"), Member("i-3", "c")});
  for (AwsInstance& each : view.instances) each.since = kPlannedAt - minutes(600);
  view.instances[1].place = Place::kLeaving;
  view.instances[1].state = State::kEnding;
  view.instances[2].place = Place::kOutside;
  view.instances[2].state = State::kEnded;
  view.target = 1;
  EXPECT_TRUE(PlanTidy(view, kPlannedAt - minutes(600), kPlannedAt).empty());
}

TEST(PlanTidy, TakesOutTheDeadThatStillCount) {
  AwsView view = GroupView(
      {Member("i-1", "a"), Member("i-2", "b"), Member("i-3", "c"), Member("i-4"), Member("i-5")});
  view.instances[0].state = State::kEnding;
  view.instances[1].state = State::kEnded;
  view.instances[2].state = State::kStopped;
  view.instances[3].state = State::kUnknown;
  view.instances[3].unhealthy = true;
  view.instances[4].state = State::kUnknown;  // EC2 is late
  EXPECT_EQ(PlanTidy(view, TimePoint::max(), kPlannedAt).end.in_group,
            (Names{"i-1", "i-2", "i-3", "i-4"}));
}

TEST(PlanTidy, EndsWhatNobodyOrderedUnlessSomebodyOrdersNow) {
  AwsView view = GroupView({Member("i-1"), Member("i-2"), Member("i-3")});
  view.instances[0].since = kPlannedAt - minutes(4);
  view.instances[1].since = kPlannedAt - minutes(6);
  view.instances[2].since = kPlannedAt - minutes(6);
  view.instances[2].place = Place::kOutside;
  const AwsTidyPlan plan = PlanTidy(view, kPlannedAt - minutes(1), kPlannedAt);
  EXPECT_EQ(plan.end.in_group, Names{"i-2"});
  EXPECT_EQ(plan.end.outside, Names{"i-3"});
  EXPECT_TRUE(PlanTidy(view, TimePoint::max(), kPlannedAt).empty());
}

TEST(PlanTidy, LowersATargetToWhatIsThereWhenNobodyOrdersForLong) {
  AwsView view = GroupView({Member("i-1", "a")});
  view.target = 3;
  EXPECT_EQ(PlanTidy(view, kPlannedAt - minutes(4), kPlannedAt).target, std::nullopt);
  EXPECT_EQ(PlanTidy(view, kPlannedAt - minutes(6), kPlannedAt).target, 1);
  EXPECT_EQ(PlanTidy(view, kPlannedAt - minutes(4), kPlannedAt, minutes(3)).target, 1);
  view.target = 0;
  EXPECT_EQ(PlanTidy(view, kPlannedAt - minutes(6), kPlannedAt).target, std::nullopt);
}

TEST(PlanTidy, LeavesANameToOne) {
  AwsView view =
      GroupView({Member("i-1", "a"), Member("i-2", "a"), Member("i-3", "b"), Member("i-4", "b")});
  view.instances[3].state = State::kEnded;
  view.instances[3].place = Place::kOutside;
  EXPECT_EQ(PlanTidy(view, kPlannedAt, kPlannedAt).unname,
            (std::vector<AwsNaming>{{"i-2", "a"}, {"i-3", "b"}}));
}

TEST(FailureOf, TellsOfWhatIsNewAndOverOnly) {
  const AwsActivity old{.id = "1", .failed = true, .words = "old"};
  const AwsActivity fresh{.id = "2", .failed = true, .words = "new"};
  const AwsActivity tries{.id = "3", .under_way = true};
  EXPECT_EQ(FailureOf({old}, {"1"}, false), "");
  EXPECT_EQ(FailureOf({fresh, old}, {"1"}, false), "new");
  EXPECT_EQ(FailureOf({fresh, tries}, {}, false), "");
  EXPECT_EQ(FailureOf({tries, fresh}, {}, true), "new");
  EXPECT_NE(FailureOf({{.id = "4", .failed = true}}, {}, false), "");
}

}  // namespace
}  // namespace tidemill
