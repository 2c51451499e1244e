// SPDX-License-Identifier: Apache-2.0
#include "cli/env_inside.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

using Words = std::vector<std::string>;

InsidePlan Films() {
  return {.image = "films:work-12", .folder = "/home/ann/films", .uid = 1000, .gid = 100};
}

std::string TextOf(const InsidePlan& plan, const DockerInfo& docker = {}) {
  const auto words = InsideWords(plan, docker);
  if (!words) return words.error().reason;
  std::string text;
  for (const std::string& word : *words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string WithDevices(const Words& devices, const DockerInfo& docker) {
  InsidePlan plan = Films();
  plan.devices = devices;
  return TextOf(plan, docker);
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(EnvInside, TheFolderAndThePersonAreThere) {
  InsidePlan plan = Films();
  plan.command = {"python", "-m", "train", "--json"};
  EXPECT_EQ(TextOf(plan),
            "run --rm --init --user 1000:100 "
            "--mount type=bind,source=/home/ann/films,target=/work --workdir /work "
            "--env HOME=/tmp films:work-12 python -m train --json");
  plan.folder = "/home/ann/a,b \"c\"";
  EXPECT_TRUE(Has(TextOf(plan), "type=bind,\"source=/home/ann/a,b \"\"c\"\"\",target=/work"));
}

TEST(EnvInside, ATerminalIsGivenIfThereIsOne) {
  InsidePlan plan = Films();
  EXPECT_FALSE(Has(TextOf(plan), "--interactive"));
  plan.input = true;
  EXPECT_TRUE(Has(TextOf(plan), "--interactive"));
  EXPECT_FALSE(Has(TextOf(plan), "--tty"));
  plan.terminal = true;
  EXPECT_TRUE(Has(TextOf(plan), "--tty"));
}

TEST(EnvInside, APortIsThatOfLoopbackAlone) {
  EXPECT_FALSE(Has(TextOf(Films()), "--publish"));
  InsidePlan plan = Films();
  plan.port = 8890;
  plan.port_inside = 8888;
  EXPECT_TRUE(Has(TextOf(plan), "--publish 127.0.0.1:8890:8888"));
}

TEST(EnvInside, FilesAreThePersonsWhateverTheEngineDoesWithUsers) {
  EXPECT_TRUE(Has(TextOf(Films(), {.rootless = true}), "--user 0:0"));
  EXPECT_TRUE(Has(TextOf(Films(), {.remaps_users = true}), "--user 1000:100 --userns host"));
}

TEST(EnvInside, DevicesEnterInTheFirstWayThatTheEngineHas) {
  const DockerInfo plain{.runtimes = {"runc"}};
  const DockerInfo ours{.runtimes = {"runc", "tidemill"}};
  const DockerInfo cdi{.cdi_folders = {"/etc/cdi"}, .runtimes = {"runc", "tidemill"}};
  const Words two = {"nvidia.com/gpu=0,1"};
  EXPECT_TRUE(Has(WithDevices(two, cdi), "--device nvidia.com/gpu=0 --device nvidia.com/gpu=1"));
  EXPECT_TRUE(Has(WithDevices(two, ours),
                  "--runtime tidemill --env TIDEMILL_CDI=nvidia.com/gpu=0,nvidia.com/gpu=1"));
  EXPECT_TRUE(Has(WithDevices(two, plain), "--gpus \"device=0,1\""));
  EXPECT_TRUE(Has(WithDevices({"nvidia.com/gpu"}, plain), "--gpus all"));
  EXPECT_TRUE(Has(WithDevices({"nvidia.com/gpu"}, cdi), "--device nvidia.com/gpu=all"));
  EXPECT_TRUE(Has(WithDevices({"/dev/fpga0"}, plain), "--device /dev/fpga0"));
  EXPECT_TRUE(Has(WithDevices({"example.com/fpga=0"}, plain), "tidemill-runtime install"));
}

TEST(EnvInside, WhatIsNoDeviceIsRefused) {
  for (const char* bad : {"gpu", "gpu=0", "", "nvidia.com/", "a b/c=0", "a/b=", "a/b=0,,1"}) {
    InsidePlan plan = Films();
    plan.devices = {bad};
    const auto words = InsideWords(plan, {.cdi_folders = {"/etc/cdi"}});
    ASSERT_FALSE(words) << bad;
    EXPECT_EQ(words.error().code, Code::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace tidemill::cli
