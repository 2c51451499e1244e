// SPDX-License-Identifier: Apache-2.0
#include "model/env_report.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(EnvReport, AGpuIsWhatFrameworksSee) {
  EnvReport report{.python = "3.11.2", .nodes = {"/dev/nvidia0"}};
  EXPECT_TRUE(SeesDevice(report, "nvidia.com/gpu")) << "nothing is installed that could say more";
  report.frameworks = {{.name = "torch", .version = "2", .devices = {"NVIDIA A10G"}}};
  EXPECT_TRUE(SeesDevice(report, "nvidia.com/gpu=0"));
  report.frameworks.push_back({.name = "jax", .version = "0.4"});
  EXPECT_FALSE(SeesDevice(report, "nvidia.com/gpu")) << "jax would compute on the processor";
  EXPECT_FALSE(SeesDevice({.python = "3"}, "nvidia.com/gpu"));
}

TEST(EnvReport, OtherKindsAreNodes) {
  EnvReport report{.python = "3.11.2", .frameworks = {{.name = "torch", .version = "2"}}};
  EXPECT_FALSE(SeesDevice(report, "example.com/fpga"));
  report.nodes = {"/dev/fpga0"};
  EXPECT_TRUE(SeesDevice(report, "example.com/fpga=0"));
  EXPECT_TRUE(SeesDevice(report, "/dev/fpga0"));
  EXPECT_FALSE(SeesDevice(report, "/dev/fpga1"));
}

}  // namespace
}  // namespace tidemill
