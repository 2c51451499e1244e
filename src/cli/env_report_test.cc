// SPDX-License-Identifier: Apache-2.0
#include "cli/env_report.h"

#include <gtest/gtest.h>

#include "cli/env_work.h"

namespace tidemill::cli {
namespace {

struct Shown {
  int code = 0;
  std::string out;
  std::string err;
};

Shown Show(const EnvReport& report, const std::vector<std::string>& asked, bool json = false) {
  Shown shown;
  Console console;
  console.out = [&shown](std::string_view text) { shown.out += text; };
  console.err = [&shown](std::string_view text) { shown.err += text; };
  console.json = json;
  shown.code = ShowEnvReport(console, "films:work-1", report, asked);
  return shown;
}

TEST(EnvReportView, SaysWhoSeesWhat) {
  const EnvReport report{
      .python = "3.11.2",
      .frameworks = {{"torch", "2.3", {"NVIDIA A10G"}, ""}, {.name = "jax", .version = "0.4"}},
      .nodes = {"/dev/nvidia0"}};
  const Shown shown = Show(report, {});
  EXPECT_EQ(shown.code, kDone) << "nothing was asked for";
  EXPECT_EQ(shown.out,
            "python 3.11.2 in films:work-1\n"
            "devices /dev/nvidia0\n"
            "FRAMEWORK  VERSION  SEES\n"
            "torch      2.3      NVIDIA A10G\n"
            "jax        0.4      none\n");
  EXPECT_EQ(Show(report, {"nvidia.com/gpu"}).code, kNoDevice);
  EXPECT_EQ(Show(report, {"nvidia.com/gpu"}).err, "not seen: nvidia.com/gpu\n");
  EXPECT_EQ(Show(report, {"/dev/nvidia0"}).code, kDone);
}

TEST(EnvReportView, AFrameworkThatCannotBeImportedIsAFailure) {
  const EnvReport report{.python = "3", .frameworks = {{.name = "cupy", .why = "ImportError: x"}}};
  const Shown shown = Show(report, {});
  EXPECT_EQ(shown.code, kFailed);
  EXPECT_NE(shown.out.find("cupy       -        cannot be imported: ImportError: x\n"),
            std::string::npos)
      << shown.out;
  EXPECT_EQ(Show(report, {"nvidia.com/gpu"}, true).code, kNoDevice);
  EXPECT_NE(Show(report, {"nvidia.com/gpu"}, true).out.find(R"("unseen":["nvidia.com/gpu"])"),
            std::string::npos);
}

}  // namespace
}  // namespace tidemill::cli
