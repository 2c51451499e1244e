// SPDX-License-Identifier: Apache-2.0
// How the provider takes what a real group does, and moto's does not.
#include "provider/aws/aws_stand_in.h"

namespace tidemill {
namespace {

using Names = std::vector<std::string>;
constexpr std::int64_t kMinuteMs = 60'000;

class AwsGroupTest : public AwsStandIn {
 protected:
  Names There() {
    Names names;
    const auto listed = List();
    EXPECT_TRUE(listed) << listed.error().reason;
    for (const ListedAt& each : *listed) {
      if (!each.ended) names.push_back(each.name);
    }
    return names;
  }
  std::string StateOf(const std::string& id) { return instances_.at(id).state; }
};

// --- orders ---

TEST_F(AwsGroupTest, WhatAGroupCannotMakeIsRefusedInItsWordsAndNotTriedAnyMore) {
  ASSERT_TRUE(Make({"spot-1"}));
  launches_ = false;
  fails_with_ = "Could not launch Spot Instances. InsufficientInstanceCapacity";
  const auto made = Make({"spot-1", "spot-2", "spot-3"});
  ASSERT_TRUE(made) << made.error().reason;
  EXPECT_EQ(made->names, (Names{"spot-2", "spot-3"}));
  EXPECT_EQ(made->words, fails_with_);
  EXPECT_EQ(made->quota, std::nullopt);
  EXPECT_EQ(targets_, (std::vector<std::int64_t>{1, 3, 1}));
  EXPECT_EQ(There(), Names{"spot-1"});
}

TEST_F(AwsGroupTest, AQuotaOfTheAccountIsToldAsOne) {
  ASSERT_TRUE(Make({"spot-1"}));
  launches_ = false;
  fails_with_ = "You have requested more vCPU capacity than your current vCPU limit of 2 allows";
  EXPECT_EQ(Make({"spot-2"})->quota, 1);
}

TEST_F(AwsGroupTest, WhatFailedBeforeTheOrderDoesNotCount) {
  activities_ = {{"Failed", "long ago"}, {"Failed", "yesterday"}};
  launches_ = false;
  refuse_ = [this](const std::string&) -> std::optional<HttpResponse> {
    launches_ = Count("DescribeScalingActivities") >= 3;
    Launch();
    return std::nullopt;
  };
  const auto made = Make({"spot-1"});
  EXPECT_EQ(made->words, "");
  EXPECT_EQ(There(), Names{"spot-1"});
}

TEST_F(AwsGroupTest, WhileTheGroupStillTriesAFailureIsNotItsLastWord) {
  launches_ = false;
  fails_with_ = "no capacity in eu-west-1a";
  refuse_ = [this](const std::string& action) -> std::optional<HttpResponse> {
    if (action == "SetDesiredCapacity" && targets_.empty()) activities_.push_back({"InProgress"});
    // It has found another zone.
    if (Count("DescribeScalingActivities") == 3 && !launches_) {
      activities_.front().status = "Successful";
      launches_ = true;
      Launch();
    }
    return std::nullopt;
  };
  const auto made = Make({"spot-1"});
  EXPECT_EQ(made->words, "");
  EXPECT_EQ(There(), Names{"spot-1"});
}

TEST_F(AwsGroupTest, AnOrderThatTakesLongIsGoneOnWithByTheNext) {
  times_.whole = std::chrono::seconds(1);
  launches_ = false;
  const auto first = Make({"spot-1", "spot-2"});
  ASSERT_TRUE(first) << first.error().reason;
  EXPECT_TRUE(first->names.empty());
  EXPECT_EQ(first->words, "");
  EXPECT_TRUE(There().empty());
  launches_ = true;
  Launch();
  ASSERT_TRUE(Make({"spot-1", "spot-2"}));
  EXPECT_EQ(There(), (Names{"spot-1", "spot-2"}));
  EXPECT_EQ(targets_, std::vector<std::int64_t>{2});
}

TEST_F(AwsGroupTest, WhatFailsBetweenTwoMakesOfAnOrderIsRefusedByTheSecond) {
  times_.whole = std::chrono::seconds(1);
  launches_ = false;
  EXPECT_EQ(Make({"spot-1"})->words, "");
  activities_.push_back({"Failed", "too late"});
  EXPECT_EQ(Make({"spot-1"})->words, "too late");
  EXPECT_EQ(target_, 0);
}

TEST_F(AwsGroupTest, WhatIsBeyondTheMaximumOfTheGroupIsRefusedAndNeverAskedFor) {
  max_ = 2;
  const auto made = Make({"spot-10", "spot-9", "spot-8"});
  EXPECT_EQ(made->names, Names{"spot-10"});
  EXPECT_EQ(made->quota, 2);
  EXPECT_EQ(targets_, std::vector<std::int64_t>{2});
}

TEST_F(AwsGroupTest, WhatTheGroupHasMadeByItselfIsUsedForAnOrder) {
  instances_["i-9"] = {.since_ms = now_ms_};
  target_ = 1;
  ASSERT_TRUE(Make({"spot-1"}));
  EXPECT_EQ(instances_["i-9"].name, "spot-1");
  EXPECT_TRUE(targets_.empty());
}

TEST_F(AwsGroupTest, TwoWhoMakeTheSameAtOnceMakeEachOnce) {
  AwsProvider other(loop_, random_, log_, Options());
  int answers = 0;
  const std::vector<MachineOrder> orders = {{"spot-1", ""}, {"spot-2", ""}, {"spot-3", ""}};
  for (AwsProvider* each : {&provider(), &other}) {
    each->Make(pool_, orders, [&answers](const Result<Refused>& made) {
      EXPECT_TRUE(made && made->names.empty());
      ++answers;
    });
  }
  RunUntil([&answers] { return answers == 2; });
  EXPECT_EQ(There(), (Names{"spot-1", "spot-2", "spot-3"}));
  EXPECT_EQ(made_, 3);
}

TEST_F(AwsGroupTest, WhoMayNotOrderIsToldSoInAwssWords) {
  ASSERT_TRUE(Make({"spot-1"}));
  refuse_ = [](const std::string& action) -> std::optional<HttpResponse> {
    if (action != "SetDesiredCapacity") return std::nullopt;
    return Refusal("AccessDenied", "you may not");
  };
  const auto made = Make({"spot-1", "spot-2"});
  ASSERT_TRUE(made) << made.error().reason;
  EXPECT_EQ(made->names, Names{"spot-2"});
  EXPECT_EQ(made->words, "AccessDenied: you may not");
}

TEST_F(AwsGroupTest, WithoutAGroupAnOrderIsRefused) {
  group_.clear();
  const auto made = Make({"spot-1"});
  EXPECT_EQ(made->names, Names{"spot-1"});
  EXPECT_EQ(made->words, "there is no Auto Scaling group tidemill-films-spot");
}

TEST_F(AwsGroupTest, ThrottlingIsMetWithPatience) {
  int left = 9;
  refuse_ = [&left](const std::string&) -> std::optional<HttpResponse> {
    if (left == 0 || left-- % 3 == 0) return std::nullopt;
    return Refusal("RequestLimitExceeded", "Request limit exceeded.");
  };
  EXPECT_EQ(Make({"spot-1"})->words, "");
  EXPECT_EQ(left, 0);
  EXPECT_EQ(There(), Names{"spot-1"});
  refuse_ = [](const std::string&) {
    return std::optional(Refusal("Throttling", "Rate exceeded"));
  };
  now_ms_ += kMinuteMs;
  EXPECT_EQ(List().error().code, Code::kUnavailable);
  EXPECT_EQ(Make({"spot-2"}).error().code, Code::kUnavailable);
}

// --- what is there ---

TEST_F(AwsGroupTest, APoolInWhichNothingHappensCostsTwoCallsInFiveSeconds) {
  ASSERT_TRUE(Make({"spot-1"}));
  ASSERT_TRUE(List());
  actions_.clear();
  for (int second = 0; second < 20; ++second) {
    now_ms_ += 1000;
    EXPECT_EQ(There(), Names{"spot-1"});
  }
  EXPECT_EQ(actions_.size(), 8U);
}

TEST_F(AwsGroupTest, ManyWhoLookAtOnceCostOneLook) {
  int answers = 0;
  for (int i = 0; i < 10; ++i) {
    provider().List(pool_, [&answers](const auto&) { ++answers; });
  }
  RunUntil([&answers] { return answers == 10; });
  EXPECT_EQ(actions_.size(), 2U);
}

TEST_F(AwsGroupTest, OneThatIsForgottenByEc2HasEndedWhenItWasLastSeen) {
  ASSERT_TRUE(Make({"spot-1"}));
  ASSERT_TRUE(List());
  const std::int64_t seen_ms = now_ms_;
  instances_.clear();
  now_ms_ += kMinuteMs / 2;
  EXPECT_EQ(There(), Names{"spot-1"});
  now_ms_ += kMinuteMs;
  const auto listed = List();
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().ended, TimePoint(std::chrono::milliseconds(seen_ms)));
  // It is not made again.
  EXPECT_EQ(Make({"spot-1"})->words, "");
  EXPECT_TRUE(There().empty());
}

TEST_F(AwsGroupTest, AMachineIsCalledByItsInstanceToo) {
  ASSERT_TRUE(Make({"spot-1"}));
  EXPECT_EQ(List()->at(0).id, "i-1");
  EXPECT_EQ(List()->at(0).since, TimePoint(std::chrono::milliseconds(now_ms_)));
}

// --- what nobody asked for ---

TEST_F(AwsGroupTest, WhatNobodyHasOrderedIsEndedAfterFiveMinutesAndNotReplaced) {
  ASSERT_TRUE(Make({"spot-1"}));
  instances_["i-2"] = {.since_ms = now_ms_};
  target_ = 2;
  now_ms_ += 5 * kMinuteMs;
  ASSERT_TRUE(List());
  EXPECT_EQ(StateOf("i-2"), "running");
  now_ms_ += kMinuteMs;
  ASSERT_TRUE(List());
  RunUntil([this] { return StateOf("i-2") == "terminated"; });
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(There(), Names{"spot-1"});
}

TEST_F(AwsGroupTest, ADeadOneThatStillCountsIsTakenOutOfItsGroup) {
  ASSERT_TRUE(Make({"spot-1", "spot-2"}));
  for (const char* state : {"terminated", "stopped"}) {
    instances_["i-1"].state = state;
    instances_["i-1"].lifecycle = "InService";
    instances_["i-1"].health = "Unhealthy";
    target_ = 2;
    now_ms_ += 6000;
    ASSERT_TRUE(List());
    RunUntil([this] { return instances_["i-1"].lifecycle.empty(); });
    EXPECT_EQ(target_, 1);
  }
  // EC2 has forgotten it.
  instances_["i-0"] = {.state = "", .health = "Unhealthy"};
  now_ms_ += 6000;
  ASSERT_TRUE(List());
  RunUntil([this] { return instances_["i-0"].lifecycle.empty(); });
}

TEST_F(AwsGroupTest, ADeadOneDoesNotKeepAnOrderWaiting) {
  times_.whole = std::chrono::seconds(1);
  ASSERT_TRUE(Make({"spot-1"}));
  instances_["i-1"].state = "terminated";
  ASSERT_TRUE(Make({"spot-2"}));
  EXPECT_EQ(made_, 1);
  now_ms_ += 6000;
  ASSERT_TRUE(List());
  RunUntil([this] { return target_ == 0; });
  ASSERT_TRUE(Make({"spot-2"}));
  EXPECT_EQ(There(), Names{"spot-2"});
}

TEST_F(AwsGroupTest, OfTwoWithOneNameTheFirstKeepsIt) {
  instances_["i-1"] = {.name = "spot-1", .since_ms = now_ms_};
  instances_["i-2"] = {.name = "spot-1", .since_ms = now_ms_};
  target_ = 2;
  EXPECT_EQ(List()->at(0).id, "i-1");
  RunUntil([this] { return instances_["i-2"].name.empty(); });
  EXPECT_EQ(instances_["i-1"].name, "spot-1");
}

TEST_F(AwsGroupTest, ATargetThatNobodyWantsAnyMoreIsLowered) {
  times_.whole = std::chrono::seconds(1);
  launches_ = false;
  ASSERT_TRUE(Make({"spot-1"}));
  now_ms_ += 5 * kMinuteMs;
  ASSERT_TRUE(List());
  EXPECT_EQ(target_, 1);
  now_ms_ += kMinuteMs;
  ASSERT_TRUE(List());
  RunUntil([this] { return target_ == 0; });
}

TEST_F(AwsGroupTest, WhatCannotBeTidiedIsNotTriedEachSecond) {
  instances_["i-1"] = {.since_ms = now_ms_ - 10 * kMinuteMs};
  refuse_ = [](const std::string& action) -> std::optional<HttpResponse> {
    if (!action.starts_with("Terminate")) return std::nullopt;
    return Refusal("AccessDenied", "not you");
  };
  for (int second = 0; second < 30; ++second) {
    ASSERT_TRUE(List());
    RunWhatIsReady();
    now_ms_ += 1000;
  }
  EXPECT_EQ(Count("TerminateInstanceInAutoScalingGroup"), 1);
}

// --- the end ---

TEST_F(AwsGroupTest, OneThatHasLeftItsGroupIsEndedToo) {
  ASSERT_TRUE(Make({"spot-1", "spot-2"}));
  instances_["i-1"].lifecycle = "";
  ASSERT_TRUE(List());
  // The second leaves when it has been looked at.
  refuse_ = [this](const std::string& action) -> std::optional<HttpResponse> {
    if (action == "TerminateInstanceInAutoScalingGroup") instances_["i-2"].lifecycle = "";
    return std::nullopt;
  };
  ASSERT_TRUE(End({"spot-1", "spot-2", "spot-3"}));
  EXPECT_EQ(Count("TerminateInstances"), 2);
  EXPECT_TRUE(There().empty());
}

TEST_F(AwsGroupTest, OneThatIsEndingIsNotEndedAgain) {
  ASSERT_TRUE(Make({"spot-1"}));
  instances_["i-1"].lifecycle = "Terminating:Wait";
  ASSERT_TRUE(End({"spot-1"}));
  EXPECT_EQ(Count("TerminateInstanceInAutoScalingGroup") + Count("TerminateInstances"), 0);
}

// --- groups that are not ours ---

TEST_F(AwsGroupTest, AnAdoptedGroupIsUsedAndNeverChanged) {
  group_ = "theirs";
  tags_.clear();
  pool_.machines.options = R"({"group":"theirs"})";
  ASSERT_TRUE(Prepare());
  ASSERT_TRUE(Make({"spot-1"}));
  ASSERT_TRUE(End({"spot-1"}));
  ASSERT_TRUE(Remove());
  for (const char* action :
       {"CreateAutoScalingGroup", "UpdateAutoScalingGroup", "DeleteAutoScalingGroup",
        "SuspendProcesses", "CreateOrUpdateTags", "CreateLaunchTemplate", "DeleteLaunchTemplate"}) {
    EXPECT_EQ(Count(action), 0) << action;
  }
  group_.clear();
  const auto prepared = Prepare();
  EXPECT_EQ(prepared.error().code, Code::kInvalid);
  EXPECT_EQ(prepared.error().reason,
            "options.group: there is no Auto Scaling group theirs in eu-west-1");
}

TEST_F(AwsGroupTest, AGroupOfAnotherPoolIsNotTouched) {
  tags_["tidemill-pool"] = "films-spot";
  EXPECT_EQ(Prepare().error().code, Code::kConflict);
  EXPECT_EQ(Make({"spot-1"})->names, Names{"spot-1"});
  ASSERT_TRUE(Remove());
  for (const std::string& action : actions_) EXPECT_TRUE(action.starts_with("Describe")) << action;
}

TEST_F(AwsGroupTest, AGroupWithMachinesIsNotRemoved) {
  ASSERT_TRUE(Make({"spot-1"}));
  const auto removed = Remove();
  EXPECT_EQ(removed.error().code, Code::kConflict);
  EXPECT_EQ(removed.error().reason, "1 of its machines are there");
  EXPECT_EQ(Count("DeleteAutoScalingGroup"), 0);
  ASSERT_TRUE(End({"spot-1"}));
  ASSERT_TRUE(Remove());
  EXPECT_EQ(Count("DeleteAutoScalingGroup"), 1);
}

TEST_F(AwsGroupTest, WhatIsWrongWithAPoolIsToldToWhoeverWroteIt) {
  pool_.machines.options = R"({"types":["m7i.large"],"image":"ami-1"})";
  EXPECT_EQ(Prepare().error().reason, "options.subnets: say in which the machines are");
  pool_.machines.options = R"({"tpyes":[]})";
  EXPECT_EQ(Prepare().error().code, Code::kInvalid);
  EXPECT_EQ(Make({"spot-1"})->names, Names{"spot-1"});
  EXPECT_EQ(List().error().code, Code::kInvalid);
  EXPECT_TRUE(actions_.empty());
  pool_.machines.options = R"({"types":["m7i.large"],"image":"ami-1","subnets":["s"]})";
  EXPECT_EQ(Prepare().error().reason, "options.image: there is no ami-1 in eu-west-1");
}

}  // namespace
}  // namespace tidemill
