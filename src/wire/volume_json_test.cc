// SPDX-License-Identifier: Apache-2.0
#include "wire/volume_json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wire/access_json.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

std::string WhyNoMounts(const std::string& mounts) {
  const auto parsed = ParseSpec(R"({"mounts":)" + mounts + "}");
  return parsed ? "it was taken" : parsed.error().reason;
}

std::string WhyNoVolume(const std::string& volume) {
  const auto parsed = ParsePoolPolicy(R"({"policy":{"volumes":{"a":)" + volume + "}}}");
  return parsed ? "it was taken" : parsed.error().reason;
}

TEST(VolumeJson, AJobNamesVolumesAndPlaces) {
  const auto spec = ParseSpec(R"({"mounts":[{"volume":"models","path":"/models","readonly":true},)"
                              R"({"volume":"models","path":"/modelsx"}]})");
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->run.mounts,
            (std::vector<VolumeMount>{{"models", "/models", true}, {"models", "/modelsx", false}}));
  EXPECT_TRUE(ParseSpec("{}")->run.mounts.empty());
}

TEST(VolumeJson, PlacesThatCannotBeAreRefused) {
  EXPECT_EQ(WhyNoMounts(R"([{"volume":"a","path":"/a"},{"volume":"b","path":"/a/b"}])"),
            "mounts[1].path: is in the way of the one at /a");
  EXPECT_EQ(WhyNoMounts(R"([{"volume":"a","path":"/dev/shm"}])"),
            "mounts[0].path: is where /dev of every container is");
  EXPECT_EQ(WhyNoMounts(R"([{"volume":"a","path":"/run"}])"),
            "mounts[0].path: is where /run/tidemill of every container is");
  EXPECT_EQ(WhyNoMounts(R"([{"volume":"a","path":"/a/../etc"}])"),
            "mounts[0].path: must be an absolute path without '.', '..' and '//', below '/', of at "
            "most 512 bytes");
  EXPECT_EQ(WhyNoMounts(R"([{"volume":"a/b","path":"/a"}])"),
            "mounts[0].volume: is no name of a volume");
  EXPECT_EQ(WhyNoMounts(R"([{"volume":"a","path":"/a\u0000"}])").find("it was taken"),
            std::string::npos);
}

TEST(VolumeJson, AVolumeIsOneOfTwoKinds) {
  EXPECT_EQ(WhyNoVolume("{}"), "policy.volumes.a.host: write either 'host' or 'nfs'");
  EXPECT_EQ(WhyNoVolume(R"({"host":"/a","nfs":"b:/c"})"),
            "policy.volumes.a.host: write either 'host' or 'nfs'");
  EXPECT_EQ(WhyNoVolume(R"({"host":"/a","options":"hard"})"),
            "policy.volumes.a.options: are of an NFS mount");
  EXPECT_EQ(
      WhyNoVolume(R"({"host":"/"})"),
      "policy.volumes.a.host: must be an absolute path without '.', '..' and '//', below '/'");
  EXPECT_EQ(WhyNoVolume(R"({"nfs":"10.0.0.5,rw:/a"})"),
            "policy.volumes.a.nfs: must be a server and a folder of it: \"10.0.0.5:/export\"");
  EXPECT_EQ(WhyNoVolume(R"({"nfs":"b:/c","options":"addr=d"})"),
            "policy.volumes.a.options: must be like \"nfsvers=4.1,hard\", without an address");
}

}  // namespace
}  // namespace tidemill
