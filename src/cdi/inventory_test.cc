// SPDX-License-Identifier: Apache-2.0
#include "cdi/inventory.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Texts = std::vector<std::string>;

CdiDevice Device(const std::string& name, const Texts& nodes) {
  CdiDevice device{.name = name};
  for (const std::string& node : nodes) device.edits.nodes.push_back({.path = "/dev/" + node});
  return device;
}

Texts FullNames(const std::vector<FoundDevice>& found) {
  Texts names;
  for (const FoundDevice& one : found) names.push_back(FormatCdiName(one.name));
  return names;
}

Texts Chosen(const std::vector<CdiDevice>& devices) {
  CdiSpec spec{.version = "0.6.0", .kind = "v/c", .devices = devices};
  Texts names;
  for (const FoundDevice& one : InventoryOf(CdiRegistry({{"/a.json", 0, spec}}))) {
    names.push_back(one.name.device);
  }
  return names;
}

TEST(CdiInventory, SaysWhatIsKnownOfADevice) {
  CdiSpec spec{.version = "0.6.0", .kind = "nvidia.com/gpu"};
  spec.annotations = {{"tidemill/driver", "535.104.05"}, {"tidemill/cuda", "12.2"}};
  spec.devices = {Device("0", {"nvidia0"}), Device("1", {"nvidia1"})};
  spec.devices[0].edits.nodes.push_back({.path = "/dev/dri/card0", .host_path = "/dev/dri/card7"});
  spec.devices[0].edits.nodes.push_back({.path = "/dev/same", .host_path = "/dev/nvidia0"});
  spec.devices[0].annotations = {{"tidemill/model", "NVIDIA A10G"},
                                 {"tidemill/memory", "24146608128"},
                                 {"tidemill/driver", "550.1"},
                                 {"tidemill/cores", "2"},
                                 {"tidemill/uuid", "GPU-1"}};
  spec.devices[1].annotations = {{"tidemill/memory", "24 GiB"}, {"tidemill/cores", "-1"}};
  const auto found = InventoryOf(CdiRegistry({{"/a.json", 0, spec}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (FoundDevice{.name = {"nvidia.com/gpu", "0"},
                                   .model = "NVIDIA A10G",
                                   .memory = 24146608128,
                                   .driver = "550.1",
                                   .cuda = "12.2",
                                   .nodes = {"/dev/nvidia0", "/dev/dri/card7"},
                                   .cores = 2,
                                   .uuid = "GPU-1"}));
  EXPECT_EQ(found[1], (FoundDevice{.name = {"nvidia.com/gpu", "1"},
                                   .driver = "535.104.05",
                                   .cuda = "12.2",
                                   .nodes = {"/dev/nvidia1"}}));
}

TEST(CdiInventory, OtherNamesForTheSameNodesAreLeftOut) {
  EXPECT_EQ(Chosen({Device("GPU-1", {"n1"}), Device("1", {"n1"}), Device("GPU-0", {"n0"}),
                    Device("0", {"n0"}), Device("all", {"n0", "n1"})}),
            (Texts{"0", "1"}));
  // The shortest, if none is a number; the first of those.
  EXPECT_EQ(Chosen({Device("gpu-long", {"n0"}), Device("gpub", {"n0"}), Device("gpua", {"n0"})}),
            (Texts{"gpua"}));
  // The order of the nodes does not matter.
  EXPECT_EQ(Chosen({Device("a", {"n0", "n1"}), Device("b", {"n1", "n0"})}), (Texts{"a"}));
}

TEST(CdiInventory, WhatStandsForSeveralIsLeftOut) {
  EXPECT_EQ(Chosen({Device("0", {"n0"}), Device("1", {"n1"}), Device("2", {"n2"}),
                    Device("pair", {"n0", "n1"}), Device("every", {"n0", "n1", "n2"})}),
            (Texts{"0", "1", "2"}));
  // Also if each has a node that is everybody's.
  EXPECT_EQ(Chosen({Device("0", {"ctl", "n0"}), Device("1", {"ctl", "n1"}),
                    Device("every", {"n0", "ctl", "n1"})}),
            (Texts{"0", "1"}));
  // More than the others together: it is one of its own.
  EXPECT_EQ(Chosen({Device("a", {"n0"}), Device("b", {"n1"}), Device("c", {"n0", "n1", "n2"})}),
            (Texts{"a", "b", "c"}));
  // Parts of a device that share its node.
  EXPECT_EQ(Chosen({Device("0:0", {"n0", "cap1"}), Device("0:1", {"n0", "cap2"}),
                    Device("all", {"n0", "cap1", "cap2"})}),
            (Texts{"0:0", "0:1"}));
  // A machine with one device: all of it is the device.
  EXPECT_EQ(Chosen({Device("all", {"n0"}), Device("0", {"n0"})}), (Texts{"0"}));
  EXPECT_EQ(Chosen({Device("all", {"n0"})}), (Texts{}));
}

TEST(CdiInventory, DevicesWithoutNodesAreToldApartByName) {
  CdiDevice a{.name = "a", .edits = {.env = {"A=b"}}};
  CdiDevice b{.name = "b", .edits = {.env = {"A=b"}}};
  EXPECT_EQ(Chosen({a, b, Device("c", {"n0"})}), (Texts{"a", "b", "c"}));
}

TEST(CdiInventory, KindsAreApartAndNumbersInOrder) {
  CdiSpec gpus{.version = "0.6.0", .kind = "v/gpu"};
  for (int i = 11; i >= 0; --i) {
    gpus.devices.push_back(Device(std::to_string(i), {"n" + std::to_string(i)}));
  }
  gpus.devices.push_back(Device("x", {"x"}));
  const CdiSpec others{
      .version = "0.6.0", .kind = "v/also", .devices = {Device("0", {"n0"}), Device("1", {"n1"})}};
  const CdiRegistry registry({{"/a.json", 0, gpus}, {"/b.json", 0, others}});
  EXPECT_EQ(FullNames(InventoryOf(registry)),
            (Texts{"v/also=0", "v/also=1", "v/gpu=0", "v/gpu=1", "v/gpu=2", "v/gpu=3", "v/gpu=4",
                   "v/gpu=5", "v/gpu=6", "v/gpu=7", "v/gpu=8", "v/gpu=9", "v/gpu=10", "v/gpu=11",
                   "v/gpu=x"}));
}

}  // namespace
}  // namespace tidemill
