// SPDX-License-Identifier: Apache-2.0
#include "model/cdi.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Cdi, KindsAreAVendorAndAClass) {
  for (const char* good : {"vendor.com/gpu", "a/b", "foo.bar.baz/foo-bar123.B_az", "V_1-2.com/G.1",
                           "nvidia.com/gpu", "aws.amazon.com/neuron"}) {
    EXPECT_TRUE(IsCdiKind(good)) << good;
  }
  for (const char* bad :
       {"", "/", "gpu", "vendor.com", "vendor.com/", "/gpu", "vendor.com/gpu/", "vendor.com/gpu/a",
        "1vendor.com/gpu", "vendor.com/1gpu", "vendor.com-/gpu", "vendor.com/gpu_", ".a/gpu",
        "vendor com/gpu", "vendor.com/g pu", "vendor.com/gpu=0", "vendor.com/gp\xc3\xbc",
        "vendor.com/g:u", "vendor.com/gpu\n"}) {
    EXPECT_FALSE(IsCdiKind(bad)) << bad;
  }
  EXPECT_TRUE(IsCdiKind(std::string(253, 'a') + "/" + std::string(63, 'b')));
  EXPECT_FALSE(IsCdiKind(std::string(254, 'a') + "/b"));
  EXPECT_FALSE(IsCdiKind("a/" + std::string(64, 'b')));
}

TEST(Cdi, DeviceNamesHaveALetterOrDigitAtBothEnds) {
  for (const char* good : {"0", "a", "gpu0", "0:1", "GPU-8c5e.x_y", "GPU-1b2:3"}) {
    EXPECT_TRUE(IsCdiDeviceName(good)) << good;
  }
  for (const char* bad :
       {"", "-", "a-", ":a", "a:", "_a", "a b", "a/b", "a=b", "a,b", "a\n", "\xc3\xbc"}) {
    EXPECT_FALSE(IsCdiDeviceName(bad)) << bad;
  }
  EXPECT_TRUE(IsCdiDeviceName(std::string(253, 'a')));
  EXPECT_FALSE(IsCdiDeviceName(std::string(254, 'a')));
}

TEST(Cdi, ANameIsAKindAndADevice) {
  const CdiName gpu{"nvidia.com/gpu", "0:1"};
  EXPECT_EQ(ParseCdiName("nvidia.com/gpu=0:1"), gpu);
  EXPECT_EQ(FormatCdiName(gpu), "nvidia.com/gpu=0:1");
  for (const char* bad : {"", "=", "nvidia.com/gpu", "nvidia.com/gpu=", "=0", "gpu=0",
                          "nvidia.com/gpu=0=1", "nvidia.com/gpu=0,nvidia.com/gpu=1"}) {
    EXPECT_EQ(ParseCdiName(bad), std::nullopt) << bad;
  }
}

TEST(Cdi, NamesAreOrderedByKindFirst) {
  EXPECT_LT((CdiName{"a/b", "9"}), (CdiName{"a/c", "0"}));
  EXPECT_LT((CdiName{"a/b", "0"}), (CdiName{"a/b", "1"}));
}

}  // namespace
}  // namespace tidemill
