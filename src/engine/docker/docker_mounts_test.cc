// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_mounts.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

TEST(DockerMounts, AFolderOfAServerIsAVolumeOfTheEngine) {
  const Mount mount{
      .folder = "", .inside = "/s", .nfs = "fs.example:/e", .nfs_options = "hard,suid"};
  const DockerMount docker = DockerMountOf(mount);
  EXPECT_EQ(docker.target, "/s");
  EXPECT_TRUE(docker.read_only);
  EXPECT_EQ(docker.volume, (Options{{"type", "nfs"},
                                    {"o", "addr=fs.example,hard,suid,nosuid,nodev"},
                                    {"device", ":/e"}}));
}

TEST(DockerMounts, VolumesOfOneNameAreTheSame) {
  const auto name = [](const std::string& nfs, const std::string& options) {
    return DockerMountOf({"", "/s", true, nfs, options}).source;
  };
  EXPECT_EQ(name("a:/b", "hard"), name("a:/b", "hard"));
  EXPECT_NE(name("a:/b", "hard"), name("a:/b", "soft"));
  EXPECT_NE(name("a:/b", ""), name("a:/c", ""));
  EXPECT_NE(name("a:/b", ""), name("c:/b", ""));
}

TEST(DockerMounts, TheLabelNamesWhatIsNotOurs) {
  EXPECT_EQ(VolumesLabel({{"/x", "/.tidemill/in", true}, {"/y", "/m", true}, {"/z", "/s", false}}),
            "ro /m\nrw /s\n");
  EXPECT_EQ(VolumesLabel({{"/x", "/.tidemill/in", true}}), "");
}

}  // namespace
}  // namespace tidemill
