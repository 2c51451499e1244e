// SPDX-License-Identifier: Apache-2.0
#include "cdi/nvidia_said.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(NvidiaSaid, OfADeviceInProc) {
  EXPECT_EQ(ParseGpuInformation("Model: \t\t NVIDIA A10G\nIRQ:   \t 30\n"
                                "GPU UUID: \t GPU-0f1e2d3c-0000-1111-2222-333344445555\n"
                                "Bus Location: \t 0000:00:1e.0\nDevice Minor: \t 7\n"),
            (GpuInformation{"NVIDIA A10G", "GPU-0f1e2d3c-0000-1111-2222-333344445555", 7}));
  EXPECT_EQ(ParseGpuInformation(""), GpuInformation());
  EXPECT_EQ(ParseGpuInformation("Model: Unknown\nGPU UUID: GPU-?\?-?\?\nDevice Minor: x\n"),
            GpuInformation());
  EXPECT_EQ(ParseGpuInformation("Model: a\x1b[31m\nDevice Minor: -4\n:::\n"), GpuInformation());
}

TEST(NvidiaSaid, TheDriversVersion) {
  EXPECT_EQ(ParseDriverVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat "
                               "Aug 19 01:15:15 UTC 2023\nGCC version:  gcc 12.2.0\n"),
            "535.104.05");
  EXPECT_EQ(ParseDriverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54  "
                               "Release Build\n"),
            "550.54");
  EXPECT_EQ(ParseDriverVersion("GCC version:  gcc 12.2.0\n"), "");
  EXPECT_EQ(ParseDriverVersion("NVRM version: x86_64 . 5. .5\n"), "");
  EXPECT_EQ(ParseDriverVersion(""), "");
}

TEST(NvidiaSaid, TheToolsTable) {
  const auto gpus = ParseSmiGpus(
      "0, GPU-aa, NVIDIA A10G, 23028, 00000000:00:1E.0\n"
      "1, GPU-bb, [N/A], [Unknown Error], 00000001:3B:00.0\r\n"
      "No devices were found\n"
      "x, GPU-cc, NVIDIA A10G, 23028, 00000000:00:1F.0\n"
      "2, , a\tb, 99999999999999, \n");
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0], (SmiGpu{0, "GPU-aa", "NVIDIA A10G", std::int64_t{23028} << 20, "0:00:1e.0"}));
  EXPECT_EQ(gpus[1], (SmiGpu{1, "GPU-bb", "", 0, "1:3b:00.0"}));
  EXPECT_EQ(gpus[2], (SmiGpu{2, "", "", 0, ""}));
  EXPECT_TRUE(ParseSmiGpus("").empty());
}

TEST(NvidiaSaid, WhatStandsAboveTheTable) {
  EXPECT_EQ(ParseSmiHeader("Mon Jun 24 16:50:40 2024\n+-----+\n"
                           "| NVIDIA-SMI 535.129.03   Driver Version: 535.129.03   CUDA Version: "
                           "12.2     |\n"),
            (SmiHeader{"535.129.03", "12.2"}));
  EXPECT_EQ(ParseSmiHeader("| Driver Version: 390.48|\n"), (SmiHeader{"390.48", ""}));
  EXPECT_EQ(ParseSmiHeader("CUDA Version: N/A |"), SmiHeader());
  EXPECT_EQ(ParseSmiHeader("CUDA Version:"), SmiHeader());
}

TEST(NvidiaSaid, APlaceOnTheBusHasOneSpelling) {
  EXPECT_EQ(PlainBus("00000000:3B:00.0"), "0:3b:00.0");
  EXPECT_EQ(PlainBus("0000:3b:00.0"), "0:3b:00.0");
  EXPECT_EQ(PlainBus(" 0010:00:00.0\n"), "10:00:00.0");
  EXPECT_EQ(PlainBus(":00:00.0"), ":00:00.0");
  EXPECT_EQ(PlainBus(""), "");
}

}  // namespace
}  // namespace tidemill
