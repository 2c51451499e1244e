// SPDX-License-Identifier: Apache-2.0
#include "model/image_needs.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

std::int32_t CudaOf(const std::string& ways) {
  const auto versions = VersionsAskedBy({.env = {"A=b", "NVIDIA_REQUIRE_CUDA=" + ways}});
  const auto found = versions.find("nvidia.com/gpu");
  return found == versions.end() ? 0 : found->second;
}

TEST(ImageNeeds, CudaIsAskedForByAVariable) {
  EXPECT_EQ(CudaOf("cuda>=12.2"), 12002);
  EXPECT_EQ(CudaOf("cuda>=12.2 brand=tesla,driver>=470,driver<471"), 12002);
  EXPECT_EQ(CudaOf("cuda>=12.2 cuda>=11.8"), 11008) << "one way is enough";
  for (const char* ways : {"", " ", "cuda", "cuda>=", "cuda>=x", "cuda>12.2", "brand=tesla",
                           "driver>=470", "cuda>=12.2,driver>=470"}) {
    EXPECT_EQ(CudaOf(ways), 0) << ways;
  }
  EXPECT_TRUE(VersionsAskedBy({.env = {"NVIDIA_REQUIRE_CUDA"}}).empty());
}

TEST(ImageNeeds, AnyKindIsAskedForByALabel) {
  const auto versions =
      VersionsAskedBy({.labels = {{"tidemill.requires.aws.amazon.com/neuron", "2.16"},
                                  {"tidemill.requires.a", "x"}}});
  EXPECT_EQ(versions, (std::map<std::string, std::int32_t>{{"aws.amazon.com/neuron", 2016}}));
}

TEST(ImageNeeds, TheSpecGoesBeforeTheImage) {
  const ImageConfig config{.env = {"NVIDIA_REQUIRE_CUDA=cuda>=12.2"}};
  EXPECT_EQ(WithImageNeeds({{"nvidia.com/gpu", 2}}, config).at("nvidia.com/gpu").version, 12002);
  DeviceCount own = 1;
  own.version = 11000;
  EXPECT_EQ(WithImageNeeds({{"nvidia.com/gpu", own}}, config).at("nvidia.com/gpu"), own);
  EXPECT_EQ(WithImageNeeds({{"fpga", 1}}, config), (Devices{{"fpga", 1}}));
  EXPECT_TRUE(AsksItsImage({{"fpga", 1}, {"nvidia.com/gpu", own}}));
  EXPECT_FALSE(AsksItsImage({{"machine", 1}, {"nvidia.com/gpu", own}}));
}

}  // namespace
}  // namespace tidemill
