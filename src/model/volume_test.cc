// SPDX-License-Identifier: Apache-2.0
#include "model/volume.h"

#include <string>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Volume, PathsAreAbsoluteAndNormal) {
  for (const char* path : {"/models", "/a/b", "/...", "/a b", "/.hidden"}) {
    EXPECT_TRUE(IsFolderPath(path)) << path;
  }
  for (const char* path : {"", "/", "a", "./a", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/../a",
                           "/a\n", "/a\tb", "/."}) {
    EXPECT_FALSE(IsFolderPath(path)) << path;
  }
  EXPECT_FALSE(IsFolderPath("/" + std::string(kMountPathBytes, 'a')));
}

TEST(Volume, APathIsInTheWayOfItselfAndOfWhatIsBelow) {
  EXPECT_TRUE(Overlap("/a", "/a"));
  EXPECT_TRUE(Overlap("/a", "/a/b"));
  EXPECT_TRUE(Overlap("/a/b/c", "/a"));
  EXPECT_FALSE(Overlap("/a", "/ab"));
  EXPECT_FALSE(Overlap("/a/b", "/a/c"));
}

TEST(Volume, WhatEveryContainerHasIsNotHidden) {
  for (const char* path : {"/models", "/tmp/a", "/etc/app", "/var/run", "/runs", "/devices"}) {
    EXPECT_EQ(WhyNoMountAt(path), "") << path;
  }
  for (const char* path : {"/", "/proc", "/proc/self", "/sys/fs", "/dev", "/dev/shm", "/.tidemill",
                           "/.tidemill/in", "/run", "/run/tidemill/secrets", "/etc", "/etc/hosts",
                           "/etc/resolv.conf", "/tmp", "/a/../proc", "models"}) {
    EXPECT_NE(WhyNoMountAt(path), "") << path;
  }
}

TEST(Volume, AnNfsPlaceIsAServerAndAFolder) {
  EXPECT_EQ(ParseNfs("10.0.0.5:/export/a").server, "10.0.0.5");
  EXPECT_EQ(ParseNfs("10.0.0.5:/export/a").path, "/export/a");
  EXPECT_EQ(ParseNfs("fs-1.efs.eu-west-1.amazonaws.com:/").path, "/");
  for (const char* text :
       {"", "a", ":/a", "a:b", "a:/../b", "a,addr=b:/x", "a b:/x", "-a:/x", "a:/x\ny", "a:/x/"}) {
    EXPECT_EQ(ParseNfs(text).server, "") << text;
  }
  EXPECT_TRUE(IsNfsOptions("nfsvers=4.1,hard,rsize=1048576"));
  for (const char* text : {"addr=10.0.0.9", "hard,addr=a", "a,,b", "a,", "a b", "a\nb"}) {
    EXPECT_FALSE(IsNfsOptions(text)) << text;
  }
}

TEST(Volume, StoresGiveBackWhatTheyKeep) {
  const Volumes volumes = {
      {"models", {.host = "/srv/my models", .readonly = true}},
      {"scratch", {.nfs = "10.0.0.5:/export", .options = "nfsvers=4.1,hard"}},
  };
  EXPECT_EQ(ParseVolumes(FormatVolumes(volumes)), volumes);
  EXPECT_TRUE(ParseVolumes("").empty());
  EXPECT_TRUE(ParseVolumes("models\n\t\t\n").empty());
  EXPECT_TRUE(ParseVolumes("models\tx\thost\t/a").at("models").readonly);
}

}  // namespace
}  // namespace tidemill
