// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/sight.h"

#include <gtest/gtest.h>

#include "provider/gcp/make_plan.h"

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Texts = std::vector<std::string>;

constexpr TimePoint kNow{std::chrono::hours(500'000)};

class GcpSightTest : public ::testing::Test {
 protected:
  std::string Of(const std::string& machine) const { return *names_.InstanceOf(machine); }
  void Put(const std::string& machine, TimePoint since, const std::string& status = "RUNNING") {
    view_.managed.push_back({Of(machine), "NONE", status, {}});
    view_.instances.push_back({Of(machine), status, since, {}});
  }
  GcpOperation Did(const std::string& type, const std::string& machine, TimePoint when) const {
    return {"op", type, Of(machine), true, {}, when, when};
  }
  Texts Look(TimePoint now = kNow) {
    return Notice(memory_, names_, view_, history_, {.now = now, .owned = true});
  }

  const GcpNames names_{"films", "spot"};
  GroupView view_;
  PoolMemory memory_;
  std::vector<GcpOperation> history_;
};

TEST_F(GcpSightTest, AMachineThatIsGoneEndedWhenGoogleSaysSoOrElseWhenItWasMissed) {
  Put("spot-1", kNow - minutes(9));
  Put("spot-2", kNow - minutes(9));
  EXPECT_TRUE(Look().empty());
  EXPECT_FALSE(NeedsHistory(memory_, names_, view_));
  view_ = {};
  EXPECT_TRUE(NeedsHistory(memory_, names_, view_));
  history_ = {Did("delete", "spot-1", kNow + seconds(3)),
              Did("compute.instances.preempted", "spot-1", kNow + seconds(1)),
              Did("delete", "spot-1", kNow - minutes(20))};
  Look(kNow + seconds(5));
  EXPECT_EQ(memory_.machines.at("spot-1").ended, kNow + seconds(1));
  EXPECT_EQ(memory_.machines.at("spot-2").ended, kNow + seconds(5));
  history_.clear();
  Look(kNow + minutes(9));
  EXPECT_EQ(memory_.machines.at("spot-2").ended, kNow + seconds(5));
  Look(kNow + minutes(61));
  EXPECT_TRUE(memory_.machines.empty());
}

TEST_F(GcpSightTest, AnOperationThatFailedEndsNothing) {
  Look();
  history_ = {Did("delete", "spot-1", kNow)};
  history_[0].faults = {{"X", ""}};
  memory_ = {};
  Look();
  EXPECT_TRUE(memory_.machines.empty());
}

TEST_F(GcpSightTest, OneThatTheListLacksIsThereWhileItsGroupSaysSo) {
  Put("spot-1", kNow - minutes(9));
  Look();
  view_.instances.clear();
  EXPECT_TRUE(Look().empty());
  EXPECT_FALSE(memory_.machines.at("spot-1").ended);
}

TEST_F(GcpSightTest, WhatStandsStoppedHasEndedAndLeaves) {
  Put("spot-1", kNow - minutes(9), "TERMINATED");
  view_.instances[0].stopped = kNow - minutes(2);
  EXPECT_EQ(Look(), Texts{Of("spot-1")});
  EXPECT_EQ(memory_.machines.at("spot-1").ended, kNow - minutes(2));
  view_.managed[0].action = "DELETING";
  EXPECT_TRUE(Look().empty());
}

TEST_F(GcpSightTest, WhatIsMadeAnewUnderTheSameNameHasEnded) {
  Put("spot-1", kNow - minutes(9));
  Look();
  view_.instances[0].since = kNow - minutes(1);
  history_ = {Did("compute.instances.preempted", "spot-1", kNow - minutes(2))};
  EXPECT_TRUE(NeedsHistory(memory_, names_, view_));
  EXPECT_EQ(Look(), Texts{Of("spot-1")});
  EXPECT_EQ(memory_.machines.at("spot-1").ended, kNow - minutes(2));
  EXPECT_EQ(memory_.machines.at("spot-1").since, kNow - minutes(9));
  // The same for who comes new.
  memory_ = {};
  history_.push_back(Did("insert", "spot-1", kNow - minutes(9)));
  EXPECT_EQ(Look(), Texts{Of("spot-1")});
  EXPECT_EQ(memory_.machines.at("spot-1").ended, kNow - minutes(2));
  EXPECT_EQ(memory_.machines.at("spot-1").since, kNow - minutes(9));
}

TEST_F(GcpSightTest, AnEndOfLongAgoIsNotRecalled) {
  history_ = {Did("delete", "spot-1", kNow - minutes(61)),
              Did("delete", "spot-2", kNow - minutes(59))};
  Look();
  EXPECT_FALSE(memory_.machines.contains("spot-1"));
  EXPECT_EQ(memory_.machines.at("spot-2").ended, kNow - minutes(59));
}

TEST_F(GcpSightTest, OrdersAreMadeRefusedOrWaitedForAsTheyStand) {
  Put("spot-1", kNow);
  Look();
  view_.managed.push_back({Of("spot-2"), "CREATING", "", GcpFault{"QUOTA_EXCEEDED", "no"}});
  view_.managed.push_back({Of("spot-3"), "CREATING", "", {}});
  view_.managed.push_back({Of("spot-4"), "DELETING", "", GcpFault{"QUOTA_EXCEEDED", "no"}});
  memory_.machines["spot-5"] = {"spot-5", kNow, kNow, Of("spot-5")};
  const Texts all{"spot-1", "spot-2", "spot-3", "spot-4", "spot-5", "spot-6", "spot-6", "dear-1"};
  MakePlan plan = PlanMake(all, names_, view_, memory_, {});
  EXPECT_EQ(plan.create, Texts{Of("spot-6")});
  EXPECT_EQ(plan.refused, (Texts{"spot-2", "dear-1"}));
  EXPECT_EQ(plan.failed, Texts{Of("spot-2")});
  EXPECT_EQ(plan.words, "QUOTA_EXCEEDED: no");
  EXPECT_TRUE(plan.is_quota);
  EXPECT_FALSE(plan.is_settled);
  plan = PlanMake({"spot-6"}, names_, view_, memory_, {Of("spot-6")});
  EXPECT_TRUE(plan.create.empty());
  EXPECT_FALSE(plan.is_settled);
  plan = PlanMake({"spot-1", "spot-2", "spot-5"}, names_, view_, memory_, {});
  EXPECT_TRUE(plan.is_settled);
}

}  // namespace
}  // namespace tidemill
