// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/device_way.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Words = std::vector<std::string>;

DeviceAbilities Engine(DockerInfo info) {
  return {.engine = "docker 1", .folders = {"/etc/cdi", "/var/run/cdi"}, .info = std::move(info)};
}

const Words kBothFolders = {"/var/run/cdi", "/etc/cdi"};

TEST(DeviceWay, PathsNeedNothingOfTheEngine) {
  const auto way = WayOf({"/dev/a", "/dev/b"}, Engine({}));
  ASSERT_TRUE(way);
  EXPECT_EQ(*way, (DeviceWay{.paths = {"/dev/a", "/dev/b"}}));
  EXPECT_EQ(WayOf({}, Engine({.cdi_folders = kBothFolders, .runtimes = {"tidemill", "nvidia"}})),
            DeviceWay{});
}

TEST(DeviceWay, TheEnginesOwnGoesBeforeOurRuntime) {
  const auto way = WayOf({"/dev/a", "a.b/c=0", "nvidia.com/gpu=1"},
                         Engine({.cdi_folders = kBothFolders, .runtimes = {"tidemill", "nvidia"}}));
  ASSERT_TRUE(way);
  EXPECT_EQ(*way, (DeviceWay{.paths = {"/dev/a"},
                             .requests = {{"cdi", {"a.b/c=0", "nvidia.com/gpu=1"}}}}));
}

TEST(DeviceWay, AnEngineThatReadsOtherFoldersDoesNotKnowTheDevices) {
  const auto way =
      WayOf({"a.b/c=0"}, Engine({.cdi_folders = {"/etc/cdi"}, .runtimes = {"tidemill"}}));
  ASSERT_TRUE(way);
  EXPECT_TRUE(way->requests.empty());
  EXPECT_EQ(way->runtime, "tidemill");
  const auto none = WayOf({"a.b/c=0"}, Engine({.cdi_folders = {"/etc/cdi"}}));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().reason.find("it reads /etc/cdi, and not /etc/cdi,/var/run/cdi"),
            std::string::npos)
      << none.error().reason;
}

TEST(DeviceWay, OurRuntimeIsToldTheNames) {
  const auto way =
      WayOf({"a.b/c=0", "nvidia.com/gpu=1"}, Engine({.runtimes = {"nvidia", "runc", "tidemill"}}));
  ASSERT_TRUE(way);
  EXPECT_EQ(*way,
            (DeviceWay{.runtime = "tidemill", .env = {"TIDEMILL_CDI=a.b/c=0,nvidia.com/gpu=1"}}));
}

TEST(DeviceWay, NvidiasHookGivesNvidiasDevicesAndNoOthers) {
  DeviceAbilities engine = Engine({.runtimes = {"nvidia", "runc"}});
  auto way = WayOf({"nvidia.com/gpu=0", "nvidia.com/gpu=GPU-7"}, engine);
  ASSERT_TRUE(way);
  EXPECT_EQ(*way, (DeviceWay{.requests = {{"nvidia", {"0", "GPU-7"}, true}}}));
  EXPECT_FALSE(WayOf({"nvidia.com/gpu=0", "a.b/c=0"}, engine));
  engine.info.runtimes = {"runc"};
  EXPECT_FALSE(WayOf({"nvidia.com/gpu=0"}, engine));
  engine.nvidia_hook = true;
  way = WayOf({"nvidia.com/gpu=0"}, engine);
  ASSERT_TRUE(way);
  EXPECT_EQ(way->requests.size(), 1U);
}

TEST(DeviceWay, OneThatCannotSaysWhatToDo) {
  const auto way = WayOf({"a.b/c=0"}, Engine({.runtimes = {"runc"}}));
  ASSERT_FALSE(way);
  // Not the item's doing: it is run elsewhere.
  EXPECT_EQ(way.error().code, Code::kUnavailable);
  EXPECT_EQ(way.error().reason,
            "docker 1 cannot give devices of CDI specs to containers: it does not read such specs; "
            "run on the machine: sudo tidemill-runtime install --docker");
}

TEST(DeviceWay, AnImageCannotAskARuntimeThatIsEverybodysForOthersDevices) {
  const DeviceAbilities ours = Engine({.runtimes = {"tidemill"}, .default_runtime = "tidemill"});
  EXPECT_EQ(WayOf({}, ours), (DeviceWay{.env = {"TIDEMILL_CDI="}}));
  EXPECT_EQ(WayOf({"/dev/a"}, ours), (DeviceWay{.paths = {"/dev/a"}, .env = {"TIDEMILL_CDI="}}));
  EXPECT_EQ(WayOf({"a.b/c=0"}, ours)->env, Words{"TIDEMILL_CDI=a.b/c=0"});
  const DeviceAbilities theirs = Engine({.runtimes = {"nvidia"}, .default_runtime = "nvidia"});
  EXPECT_EQ(WayOf({}, theirs), (DeviceWay{.env = {"NVIDIA_VISIBLE_DEVICES=void"}}));
  EXPECT_EQ(WayOf({"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia12"}, theirs)->env,
            Words{"NVIDIA_VISIBLE_DEVICES=0,12"});
  // The Engine says it itself.
  EXPECT_TRUE(WayOf({"nvidia.com/gpu=0"}, theirs)->env.empty());
}

}  // namespace
}  // namespace tidemill
