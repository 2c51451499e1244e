// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "store/plan_contract.h"

// Machines of which their provider says nothing any more.
namespace tidemill {

TEST_P(PlanStoreTest, AMachineThatItsProviderForgetsIsGoneInTheEnd) {
  Order(0, 4);
  const TimePoint made = Now();
  const std::vector<ProviderSight> all = {{Spot(0), made, {}}, {Spot(1), made, {}}};
  SeeAll(all);  // 2 and 3 were never made
  JoinAs("spot-0");
  SeeAll(all);
  Age(kSecond);
  SeeAll({{Spot(1), made, {}}});
  Age(kMissingTime - 2 * kSecond);
  // A list that is not whole says nothing of those that are not in it.
  See();
  SeeAll({});
  EXPECT_EQ(MachineOf("spot-1").state, kBooting) << "it was there when 2 and 3 were missing";
  EXPECT_EQ(MachineOf("spot-2").state, MachineState::kOrdered);
  Age(2 * kSecond);
  SeeAll({});
  EXPECT_EQ(MachineOf("spot-0").state, kJoined) << "its agent lives";
  EXPECT_EQ(MachineOf("spot-1").state, kBooting);
  for (const PlanMachine& machine : Read().machines) {
    EXPECT_TRUE(machine.id == "spot-0" || machine.id == "spot-1") << machine.id;
  }
  EXPECT_EQ(Spot().never_joined, 0) << "they were not made";
  // It is listed again, for a moment.
  SeeAll({{Spot(1), made, {}}});
  Age(kMissingTime - kSecond);
  SeeAll({});
  EXPECT_EQ(MachineOf("spot-1").state, kBooting);
  const TimePoint gone = Now();
  Age(kMissingTime);
  SeeAll({});
  EXPECT_EQ(MachineOf("spot-1").state, kGone);
  EXPECT_EQ(MachineOf("spot-1").since, gone) << "when it was missing first";
  EXPECT_EQ(Spot().never_joined, 1);
  EXPECT_GT(Spot().never_joined_at, gone);
}

// Its provider listed it late, and then nothing for an hour.
TEST_P(PlanStoreTest, AMachineThatJoinsWhileNothingIsListedIsNotMissing) {
  Order(0, 1);
  const TimePoint made = Now();
  SeeAll({{Spot(0), made, {}}});
  SeeAll({});
  EXPECT_TRUE(MachineOf("spot-0").missing_since);
  JoinAs("spot-0");
  See();
  EXPECT_FALSE(MachineOf("spot-0").missing_since);
}

}  // namespace tidemill
