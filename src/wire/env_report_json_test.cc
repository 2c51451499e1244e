// SPDX-License-Identifier: Apache-2.0
#include "wire/env_report_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(EnvReportJson, IsReadAsItWasWritten) {
  const EnvReport report{.python = "3.11.2",
                         .frameworks = {{"torch", "2.3", {"NVIDIA A10G", "NVIDIA A10G"}, ""},
                                        {.name = "cupy", .why = "ImportError: libcuda.so.1"}},
                         .nodes = {"/dev/nvidia0"}};
  EXPECT_EQ(ParseEnvReport(FormatEnvReport("films:1", report, {"nvidia.com/gpu"})), report);
  EXPECT_EQ(ParseEnvReport(R"({"python":"3"})"), EnvReport{.python = "3"});
}

TEST(EnvReportJson, WhatWouldWriteOnATerminalIsRefused) {
  EXPECT_FALSE(ParseEnvReport(R"({"python":"3","nodes":["/dev/\u001b[2J"]})"));
  EXPECT_FALSE(ParseEnvReport(R"({"python":"3\n"})"));
  EXPECT_FALSE(ParseEnvReport("Traceback"));
}

}  // namespace
}  // namespace tidemill
