// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/machine_devices.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

std::string WhyNot(const std::vector<std::string>& texts) {
  const auto devices = DevicesOfFlags(texts);
  return devices ? "" : devices.error().reason;
}

TEST(MachineDevices, AFlagIsAKindAndAPathThatIsThere) {
  const auto devices = DevicesOfFlags({"a.com/x=/dev/null", "a.com/x=/dev/zero"});
  ASSERT_TRUE(devices);
  EXPECT_EQ(*devices,
            (std::vector<MachineDevice>{{"a.com/x", "/dev/null"}, {"a.com/x", "/dev/zero"}}));
  for (const char* text :
       {"", "a", "a=", "a=null", "=/dev/null", "a b=/dev/null", "machine=/dev/null"}) {
    EXPECT_NE(WhyNot({text}).find("not like nvidia.com/gpu=/dev/nvidia0"), std::string::npos)
        << text;
  }
  EXPECT_EQ(WhyNot({"a=/dev/no-such"}), "--device: there is no /dev/no-such");
  EXPECT_EQ(WhyNot({"a=/dev/null", "b=/dev/null"}), "--device: /dev/null is given twice");
}

TEST(MachineDevices, ASpecsDeviceIsWhatTheSpecSaysOfIt) {
  std::vector<MachineDevice> devices;
  std::vector<std::string> troubles;
  AddSpecDevices({{.name = {"nvidia.com/gpu", "0"},
                   .model = "NVIDIA A10G",
                   .memory = 24,
                   .driver = "535.104.05",
                   .cuda = "12.2",
                   .nodes = {"/dev/nvidia0"}},
                  {.name = {"aws.amazon.com/neuron", "1"}, .driver = "2.16.7.0", .cores = 8},
                  {.name = {"a.com/x", "y"}, .model = "a, b", .driver = "1.2.3"}},
                 devices, troubles);
  ASSERT_EQ(devices.size(), 3U);
  MachineDevice gpu{"nvidia.com/gpu", "nvidia.com/gpu=0", {"/dev/nvidia0"}};
  gpu.model = "NVIDIA A10G";
  gpu.memory = 24;
  gpu.version = 12002;
  EXPECT_EQ(devices[0], gpu);
  EXPECT_EQ(devices[1].cores, 8);
  EXPECT_EQ(devices[1].version, 2016) << "of AWS Neuron, the driver's own";
  EXPECT_EQ(devices[2].model, "") << "nobody could ask for it";
  EXPECT_EQ(devices[2].version, 0) << "what its driver's version means is not known";
  EXPECT_TRUE(troubles.empty());
}

TEST(MachineDevices, WhatAFlagHasGivenIsNotTakenFromASpec) {
  std::vector<MachineDevice> devices = {{"a.com/x", "/dev/null"}};
  std::vector<std::string> troubles;
  AddSpecDevices({{.name = {"b.com/y", "0"}, .nodes = {"/dev/zero", "/dev/null"}},
                  {.name = {"b.com/y", "1"}, .nodes = {"/dev/full"}}},
                 devices, troubles);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].path, "b.com/y=1");
  EXPECT_TRUE(troubles.empty()) << "it was meant so";
}

TEST(MachineDevices, NoMoreKindsAreTakenThanAServerKnows) {
  std::vector<FoundDevice> found;
  for (int i = 0; i < 16; ++i) found.push_back({.name = {"a.com/k" + std::to_string(i), "0"}});
  found.push_back({.name = {"a.com/k0", "1"}});
  found.push_back({.name = {"a.com/" + std::string(60, 'x'), "0"}});
  std::vector<MachineDevice> devices;
  std::vector<std::string> troubles;
  AddSpecDevices(found, devices, troubles);
  EXPECT_EQ(devices.size(), 16U) << "15 kinds, one of them twice";
  ASSERT_EQ(troubles.size(), 2U);
  EXPECT_EQ(troubles[0], "a.com/k15: a machine has at most 15 kinds of devices");
  EXPECT_NE(troubles[1].find("no kind of device may have a name so long"), std::string::npos);
}

}  // namespace
}  // namespace tidemill
