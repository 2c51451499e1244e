// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_requests.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "provider/aws/group_answers.h"

namespace tidemill {
namespace {

PoolSettings PoolOf(const std::string& options) {
  PoolSettings pool;
  pool.pool.project = "films";
  pool.pool.name = "spot";
  pool.machines.max = 640;
  pool.machines.options = options;
  return pool;
}

constexpr char kWhole[] = R"({"region":"eu-west-1","types":["m7i.large","m7g.large","c7i.large"],
    "image":{"x86_64":"ami-1","arm64":"ami-2"},"subnets":["subnet-1","subnet-2"],
    "security_groups":["sg-1"],"disk_gb":80,"role":"worker","key":"ops","user_data":"#!/bin/sh\n",
    "tags":{"team":"a"}})";

std::string ParamOf(const HttpFields& params, const std::string& name) {
  const std::string* value = FindField(params, name);
  return value == nullptr ? "(none)" : *value;
}

TEST(AwsSettings, CountMachinesWhateverThePoolCountsIn) {
  PoolSettings pool = PoolOf(kWhole);
  EXPECT_EQ(AwsSettingsOf(pool, "")->max, 640);
  pool.machines.unit = SizeUnit::kVcpus;
  pool.machines.shape.millicpus = 16'000;
  EXPECT_EQ(AwsSettingsOf(pool, "")->max, 40);
}

TEST(AwsSettings, SayWhatIsMissing) {
  for (const auto& [options, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({})", "options.region"},
           {R"({"region":"eu west"})", "options.region"},
           {R"({"region":"eu-west-1"})", "options.types"},
           {R"({"region":"eu-west-1","types":["a1.large"]})", "options.image"},
           {R"({"region":"eu-west-1","types":["a1.large"],"image":"ami-1"})", "options.subnets"},
           {R"({"region":"eu-west-1","types":["a1.large"],"image":{"x86_64":"ami-1"},
                "subnets":["s"]})",
            "options.image: there is none for a1.large, which is arm64"}}) {
    const auto settings = AwsSettingsOf(PoolOf(options), "");
    ASSERT_FALSE(settings) << options;
    EXPECT_EQ(settings.error().code, Code::kInvalid);
    EXPECT_TRUE(settings.error().reason.starts_with(reason)) << settings.error().reason;
  }
  EXPECT_EQ(AwsGroupOf(PoolOf("{}"), "us-east-1")->region, "us-east-1");
  PoolSettings pool = PoolOf(kWhole);
  pool.pool.project = pool.pool.name = std::string(64, 'x');
  EXPECT_EQ(AwsSettingsOf(pool, "").error().code, Code::kInvalid);
}

TEST(AwsSettings, AreSpotAsThePoolSaysOrByPercent) {
  PoolSettings pool = PoolOf(kWhole);
  EXPECT_EQ(AwsSettingsOf(pool, "")->spot_percent, 0);
  pool.machines.spot = true;
  EXPECT_EQ(AwsSettingsOf(pool, "")->spot_percent, 100);
  pool.machines.options = R"({"region":"eu-west-1","types":["m7i.large"],"image":"ami-1",
                              "subnets":["s"],"spot_percent":70})";
  EXPECT_EQ(AwsSettingsOf(pool, "")->spot_percent, 70);
}

TEST(ArchitectureOf, IsInTheNameOfAType) {
  for (const char* type : {"m7g.large", "c8gd.metal-24xl", "t4g.nano", "a1.large", "im4gn.large",
                           "x2gd.large", "g5g.xlarge", "hpc7g.4xlarge"}) {
    EXPECT_EQ(ArchitectureOf(type), "arm64") << type;
  }
  for (const char* type : {"m7i.large", "g4dn.xlarge", "g6.xlarge", "p5.48xlarge", "trn1.2xlarge",
                           "u-6tb1.metal", "m7i-flex.large", "c6a.large", "odd"}) {
    EXPECT_EQ(ArchitectureOf(type), "x86_64") << type;
  }
}

TEST(AwsTemplates, AreOneForEachImage) {
  const auto templates = AwsTemplatesOf(*AwsSettingsOf(PoolOf(kWhole), ""));
  ASSERT_EQ(templates->size(), 2U);
  EXPECT_EQ(templates->at(0).name, "tidemill-films-spot");
  EXPECT_EQ(templates->at(0).types, (std::vector<std::string>{"m7i.large", "c7i.large"}));
  EXPECT_EQ(templates->at(1).name, "tidemill-films-spot-arm64");
  EXPECT_EQ(templates->at(1).image, "ami-2");
}

TEST(AwsTemplates, SayWhatAMachineNeedsAndWhatIsSafe) {
  const AwsSettings settings = *AwsSettingsOf(PoolOf(kWhole), "");
  const HttpFields data = TemplateData(settings, AwsTemplatesOf(settings)->at(0), "/dev/xvda");
  for (const auto& [name, value] : HttpFields{{"ImageId", "ami-1"},
                                              {"InstanceInitiatedShutdownBehavior", "terminate"},
                                              {"MetadataOptions.HttpTokens", "required"},
                                              {"MetadataOptions.HttpPutResponseHopLimit", "1"},
                                              {"MetadataOptions.InstanceMetadataTags", "enabled"},
                                              {"IamInstanceProfile.Name", "worker"},
                                              {"KeyName", "ops"},
                                              {"UserData", EncodeBase64("#!/bin/sh\n")},
                                              {"BlockDeviceMapping.1.DeviceName", "/dev/xvda"},
                                              {"BlockDeviceMapping.1.Ebs.VolumeSize", "80"},
                                              {"SecurityGroupId.1", "sg-1"},
                                              {"TagSpecification.1.ResourceType", "volume"}}) {
    EXPECT_EQ(ParamOf(data, name), value) << name;
  }
}

TEST(AwsTemplates, HaveAMarkOfAllThatTheySay) {
  const AwsSettings settings = *AwsSettingsOf(PoolOf(kWhole), "");
  HttpFields data = TemplateData(settings, AwsTemplatesOf(settings)->at(0), "/dev/xvda");
  const std::string mark = TemplateMark(data);
  EXPECT_EQ(mark, TemplateMark(data));
  data[0].second = "ami-3";
  EXPECT_NE(mark, TemplateMark(data));
  // The same once more, after another, is a new version and no repetition.
  const auto token = [&](const std::string& after) {
    return ParamOf(CreateTemplateVersion(settings.group, "x", data, after).params, "ClientToken");
  };
  EXPECT_NE(token("1"), token("2"));
  EXPECT_LE(token("1000").size(), 64U);
}

TEST(AwsGroupCalls, ChangeAGroupButNotItsTarget) {
  const AwsSettings settings = *AwsSettingsOf(PoolOf(kWhole), "");
  const auto templates = *AwsTemplatesOf(settings);
  const HttpFields params = UpdateGroup(settings, templates).params;
  EXPECT_EQ(ParamOf(params, "DesiredCapacity"), "(none)");
  EXPECT_EQ(ParamOf(params, "VPCZoneIdentifier"), "subnet-1,subnet-2");
  const std::string overrides = "MixedInstancesPolicy.LaunchTemplate.Overrides.member.";
  EXPECT_EQ(ParamOf(params, overrides + "2.InstanceType"), "m7g.large");
  EXPECT_EQ(ParamOf(params, overrides + "2.LaunchTemplateSpecification.LaunchTemplateName"),
            "tidemill-films-spot-arm64");
  EXPECT_EQ(ParamOf(params, overrides + "1.LaunchTemplateSpecification.LaunchTemplateName"),
            "(none)");
  EXPECT_EQ(ParamOf(CreateGroup(settings, templates).params, "DesiredCapacity"), "0");
}

TEST(EndOf, ReadsWhatEc2Says) {
  const TimePoint end{std::chrono::milliseconds(1'777'637'024'000)};
  EXPECT_EQ(EndOf("User initiated (2026-05-01 12:03:44 GMT)"), end);
  for (const char* reason : {"", "Server.SpotInstanceTermination", "User initiated (soon)",
                             "x (2026-05-01 12:03)", "x (2026-13-01 12:03:44 GMT)"}) {
    EXPECT_EQ(EndOf(reason), std::nullopt) << reason;
  }
}

TEST(ReadView, ReadsAllPagesAndWhatOnlyTheGroupTells) {
  const auto page = [](const std::string& id, const std::string& state) {
    return *ParseXml("<R><reservationSet><item><instancesSet><item><instanceId>" + id +
                     "</instanceId><instanceState><name>" + state +
                     "</name></instanceState><launchTime>2026-05-01T12:03:44.000Z</launchTime>"
                     "</item></instancesSet></item></reservationSet></R>");
  };
  const XmlElement groups = *ParseXml(
      "<R><DescribeAutoScalingGroupsResult><AutoScalingGroups><member><AutoScalingGroupName>g"
      "</AutoScalingGroupName><MaxSize>7</MaxSize><DesiredCapacity>2</DesiredCapacity><Instances>"
      "<member><InstanceId>i-2</InstanceId><LifecycleState>Pending</LifecycleState></member>"
      "<member><InstanceId>i-3</InstanceId><LifecycleState>Terminating</LifecycleState></member>"
      "</Instances></member></AutoScalingGroups></DescribeAutoScalingGroupsResult></R>");
  const AwsView view =
      ReadView({.name = "g"}, groups, {page("i-2", "pending"), page("i-1", "terminated")});
  EXPECT_TRUE(view.exists);
  EXPECT_EQ(view.max, 7);
  EXPECT_EQ(view.target, 2);
  ASSERT_EQ(view.instances.size(), 3U);
  EXPECT_EQ(view.instances[0].state, AwsInstance::State::kEnded);
  EXPECT_EQ(view.instances[0].place, AwsInstance::Place::kOutside);
  EXPECT_EQ(view.instances[1].state, AwsInstance::State::kThere);
  EXPECT_EQ(view.instances[1].place, AwsInstance::Place::kMember);
  EXPECT_EQ(view.instances[2].state, AwsInstance::State::kUnknown);
  EXPECT_EQ(view.instances[2].place, AwsInstance::Place::kLeaving);
  EXPECT_FALSE(ReadView({.name = "h"}, groups, {}).exists);
  EXPECT_FALSE(ReadView({.name = "g"}, *ParseXml("<R/>"), {}).exists);
}

}  // namespace
}  // namespace tidemill
