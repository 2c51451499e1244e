// SPDX-License-Identifier: Apache-2.0
#include "agent/volumes.h"

#include <string>
#include <vector>

#include "agent/agent_test.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

const Volumes kLent = {
    {"models", {.host = "/srv/models", .readonly = true}},
    {"scratch", {.host = "/srv/scratch"}},
    {"shared", {.nfs = "10.0.0.5:/export", .options = "hard"}},
};

std::string Refusal(const std::vector<VolumeMount>& wanted, const std::vector<std::string>& folders,
                    bool engine_mounts = true) {
  const auto mounts = MountsOf(wanted, {kLent, folders, engine_mounts});
  if (mounts) return "";
  EXPECT_EQ(mounts.error().code, Code::kInvalid);
  return mounts.error().reason;
}

TEST(Volumes, AMountIsReadOnlyIfThePoolOrTheJobSaysSo) {
  const std::vector<std::string> folders = {"/srv/models", "/srv/scratch"};
  const auto mounts = MountsOf({{"models", "/m", false},
                                {"scratch", "/s", false},
                                {"scratch", "/t", true},
                                {"shared", "/n", false}},
                               {kLent, folders, true});
  ASSERT_TRUE(mounts);
  const std::vector<Mount> expected = {
      {"/srv/models", "/m", true},
      {"/srv/scratch", "/s", false},
      {"/srv/scratch", "/t", true},
      {"", "/n", false, "10.0.0.5:/export", "hard"},
  };
  EXPECT_EQ(*mounts, expected);
}

TEST(Volumes, FoldersThatTheMachinesOwnerDidNotNameAreRefused) {
  for (const std::vector<std::string>& folders :
       {std::vector<std::string>{}, {"/srv"}, {"/srv/models/a"}, {"/srv/scratch"}}) {
    EXPECT_EQ(Refusal({{"models", "/m", false}}, folders),
              "volume models: this machine's agent was not started with --allow-host-folders "
              "/srv/models");
  }
  EXPECT_EQ(Refusal({{"shared", "/n", false}}, {}), "") << "no folder of the machine";
}

TEST(Volumes, WhatIsNotThereIsRefused) {
  EXPECT_EQ(Refusal({{"none", "/m", false}}, {"/srv/models"}),
            "this machine's pool declares no volume none");
  EXPECT_EQ(Refusal({{"models", "/m", false}}, {"/srv/models"}, false),
            "the job has mounts, and this machine runs no containers");
  EXPECT_EQ(Refusal({}, {}, false), "");
}

class AgentVolumesTest : public AgentTest {
 protected:
  void GrantsMounting(const std::string& volume) {
    link_.documents[{1}] = R"({"command":["x"],"resources":{"cpus":1},"mounts":[{"volume":")" +
                           volume + R"(","path":"/m"}]})";
    Grants(1, 0, 2);
  }
};

TEST_F(AgentVolumesTest, ContainersHaveTheMountsOfTheirJob) {
  std::vector<Mount> mounts;
  play_.mounts = true;
  play_.open = [&](const ContainerSpec& spec) {
    mounts = spec.mounts;
    return Result<void>();
  };
  link_.policy.volumes = kLent;
  AgentOptions options;
  options.host_folders = {"/srv/models"};
  StartAgent(options);
  GrantsMounting("models");
  RunFor(seconds(5));
  EXPECT_EQ(link_.outcomes.size(), 2U);
  EXPECT_EQ(mounts, std::vector<Mount>({{"/srv/models", "/m", true}}));
}

TEST_F(AgentVolumesTest, AJobWhoseVolumeIsNotThereIsToldOfAndNotRun) {
  play_.mounts = true;
  link_.policy.volumes = kLent;
  StartAgent();
  GrantsMounting("other");
  RunFor(seconds(5));
  EXPECT_TRUE(link_.outcomes.empty());
  EXPECT_EQ(link_.given_back, 2);
  ASSERT_FALSE(link_.troubles.empty());
  EXPECT_EQ(link_.troubles[0].reason, "this machine's pool declares no volume other");
}

}  // namespace
}  // namespace tidemill
