// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/aws_provider.h"

#include <cstdlib>

#include "base/beside_test.h"
#include "provider/aws/aws_testing.h"

namespace tidemill {
namespace {

const char* MotoUrl() { return getenv("TIDEMILL_TEST_AWS"); }

INSTANTIATE_TEST_SUITE_P(Moto, ProviderTest, testing::Values(ProviderMaker([] {
                           return std::make_unique<AwsMotoWorld>(MotoUrl());
                         })));

class AwsProviderTest : public ::testing::Test {
 protected:
  AwsProviderTest() {
    pool_.pool.project = "films";
    pool_.pool.name = "spot";
    world_.Set(pool_);
    // Beside what all pools of the world say.
    pool_.machines.options.pop_back();
    pool_.machines.options +=
        R"(,"disk_gb":80,"user_data":"#!/bin/sh\necho 'é & + %'\n","tags":{"team":"a b"}})";
  }

  Result<void> Prepare() {
    return Wait([this](auto done) { world_.provider().Prepare(pool_, done); });
  }
  Result<void> Remove() {
    return Wait([this](auto done) { world_.provider().Remove(pool_, done); });
  }
  void End(const Names& names) {
    EXPECT_TRUE(Wait([&](auto done) { world_.provider().End(pool_, names, done); }));
  }
  void Make(const Names& names) {
    std::vector<MachineOrder> orders;
    for (const std::string& name : names) orders.push_back({name, ""});
    std::optional<Result<Refused>> answer;
    world_.provider().Make(pool_, orders, [&](const Result<Refused>& got) { answer = got; });
    world_.RunUntil([&] { return answer.has_value(); });
    ASSERT_TRUE(*answer) << answer->error().reason;
    EXPECT_EQ((*answer)->words, "");
  }
  void List() {
    bool over = false;
    world_.provider().List(pool_, [&over](const auto& listed) {
      EXPECT_TRUE(listed) << listed.error().reason;
      over = true;
    });
    world_.RunUntil([&over] { return over; });
  }
  Result<void> Wait(const std::function<void(std::function<void(Result<void>)>)>& call) {
    std::optional<Result<void>> answer;
    call([&answer](const Result<void>& got) { answer = got; });
    world_.RunUntil([&answer] { return answer.has_value(); });
    return *answer;
  }
  // What another's library for AWS sees of it is as it should be.
  void ExpectSeen(const std::string& phase) {
    const std::string command = "python3 " + BesideTest(TIDEMILL_TESTS "/cloud/aws_group.py ") +
                                phase + " " + world_.region + " " + AwsMotoWorld::GroupOf(pool_);
    EXPECT_EQ(system(command.c_str()), 0) << phase;
  }

  AwsMotoWorld world_{MotoUrl()};
  PoolSettings pool_;
};

TEST_F(AwsProviderTest, WhatItMakesIsSeenSoByOthers) {
  const auto prepared = Prepare();
  ASSERT_TRUE(prepared) << prepared.error().reason;
  ExpectSeen("prepared");
  Make({"spot-1", "spot-2"});
  ExpectSeen("made");
  // Once more changes nothing: not the template, not the target.
  ASSERT_TRUE(Prepare());
  ExpectSeen("made");
  End({"spot-1", "spot-2"});
  ExpectSeen("prepared");
  ASSERT_TRUE(Remove());
  ExpectSeen("removed");
}

TEST_F(AwsProviderTest, AChangedPoolHasANewVersionOfItsTemplate) {
  ASSERT_TRUE(Prepare());
  const auto versions = [this] {
    const XmlElement answer = world_.Call("ec2", "DescribeLaunchTemplateVersions",
                                          {{"LaunchTemplateName", AwsMotoWorld::GroupOf(pool_)}});
    return answer.Find("launchTemplateVersionSet")->children.size();
  };
  EXPECT_EQ(versions(), 1U);
  const std::string before = pool_.machines.options;
  pool_.machines.options.replace(before.find(R"("disk_gb":80)"), 12, R"("disk_gb":90)");
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(versions(), 2U);
  pool_.machines.options = before;
  ASSERT_TRUE(Prepare());
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(versions(), 3U);
}

TEST_F(AwsProviderTest, WhatAGroupPutsInThePlaceOfALostMachineIsEndedIfNobodyOrdersIt) {
  ASSERT_TRUE(Prepare());
  Make({"spot-1", "spot-2"});
  world_.Kill(pool_, "spot-1");
  EXPECT_EQ(world_.IdsOf(pool_).size(), 2U);
  List();
  world_.Pass(std::chrono::minutes(6));
  List();
  world_.RunUntil([this] { return world_.TargetOf(pool_) == "1"; });
  EXPECT_EQ(world_.IdsOf(pool_), world_.IdsOf(pool_, "spot-2"));
}

TEST_F(AwsProviderTest, WhatAGroupPutsInThePlaceOfALostMachineIsUsedIfSomebodyOrders) {
  ASSERT_TRUE(Prepare());
  Make({"spot-1", "spot-2"});
  world_.Kill(pool_, "spot-1");
  Make({"spot-3"});
  EXPECT_EQ(world_.TargetOf(pool_), "2");
  EXPECT_EQ(world_.IdsOf(pool_, "spot-3").size(), 1U);
}

TEST_F(AwsProviderTest, HundredMachinesAreMadeAndEnded) {
  pool_.machines.max = 200;
  ASSERT_TRUE(Prepare());
  Names names;
  for (int i = 1; i <= 100; ++i) names.push_back("spot-" + std::to_string(i));
  Make(names);
  EXPECT_EQ(world_.IdsOf(pool_).size(), 100U);
  End(names);
  EXPECT_EQ(world_.TargetOf(pool_), "0");
  EXPECT_TRUE(world_.IdsOf(pool_).empty());
}

TEST_F(AwsProviderTest, SubnetsThatAreNotThereAreToldInAwssWords) {
  pool_.machines.options.replace(pool_.machines.options.find("subnet-"), 8, "subnet-x");
  const auto prepared = Prepare();
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().reason.find("subnet"), std::string::npos) << prepared.error().reason;
}

}  // namespace
}  // namespace tidemill
