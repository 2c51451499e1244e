// SPDX-License-Identifier: Apache-2.0
#include "cdi/generate.h"

#include <gtest/gtest.h>

#include "wire/cdi_format.h"
#include "wire/cdi_json.h"

namespace tidemill {
namespace {

std::string WhyNotGenerated(const std::string& kind, const std::vector<std::string>& paths) {
  const auto spec = GenerateForPaths(kind, paths);
  return spec ? "" : spec.error().reason;
}

TEST(GenerateForPaths, MakesADeviceOfEachNode) {
  const auto spec = GenerateForPaths(kLocalKind, {"/dev/zero", "/dev/dri/card 0", "/dev/_x:1-"});
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->kind, "tidemill.local/device");
  ASSERT_EQ(spec->devices.size(), 3u);
  EXPECT_EQ(spec->devices[0],
            (CdiDevice{.name = "zero", .edits = {.nodes = {{.path = "/dev/zero"}}}}));
  EXPECT_EQ(spec->devices[1].name, "card-0");
  EXPECT_EQ(spec->devices[1].edits.nodes[0].path, "/dev/dri/card 0");
  EXPECT_EQ(spec->devices[2].name, "x:1");
  EXPECT_EQ(ParseCdiSpec(FormatCdiSpec(*spec)).value(), *spec);
}

TEST(GenerateForPaths, RefusesWhatWouldBeNoSpec) {
  EXPECT_EQ(WhyNotGenerated("gpu", {"/dev/zero"}),
            "'gpu' is no kind; write VENDOR/CLASS, as vendor.com/gpu");
  EXPECT_EQ(WhyNotGenerated(kLocalKind, {}), "no device is named");
  EXPECT_EQ(WhyNotGenerated(kLocalKind, {"/dev/zero", "/dev/x/zero"}),
            "/dev/zero and /dev/x/zero would both be called 'zero'; make a spec for each, with "
            "--kind");
  EXPECT_EQ(WhyNotGenerated(kLocalKind, {"dev/zero"}), "dev/zero: must be an absolute path");
  EXPECT_EQ(WhyNotGenerated(kLocalKind, {"/dev/../etc/zero"}),
            "/dev/../etc/zero: must not have '..' in it");
  EXPECT_EQ(WhyNotGenerated(kLocalKind, {"/proc/kcore"}),
            "/proc/kcore: must not be in /proc of the container");
  EXPECT_EQ(WhyNotGenerated(kLocalKind, {"/dev/"}), "'/dev/' gives a device no name");
  EXPECT_EQ(WhyNotGenerated(kLocalKind, {"/dev/a\xff"}), "/dev/a\xff: not UTF-8");
}

}  // namespace
}  // namespace tidemill
