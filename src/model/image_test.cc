// SPDX-License-Identifier: Apache-2.0
#include "model/image.h"

#include <string>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(ImageName, AlwaysHasATag) {
  EXPECT_EQ(*ParseImageName("a"), (ImageName{"a", "latest"}));
  EXPECT_EQ(*ParseImageName("a:1"), (ImageName{"a", "1"}));
  EXPECT_EQ(*ParseImageName("host:5000/a"), (ImageName{"host:5000/a", "latest"}));
  EXPECT_EQ(*ParseImageName("host:5000/a/b:v2"), (ImageName{"host:5000/a/b", "v2"}));
  EXPECT_EQ(*ParseImageName("a@sha256:12"), (ImageName{"a", "sha256:12"}));
  EXPECT_EQ(*ParseImageName("h:1/a:t@sha256:12"), (ImageName{"h:1/a", "sha256:12"}));
  for (const char* bad :
       {"", "/a", "a/", "a//b", "a/../b", "a b", "a?b", "a:", "@sha256:1", "a\n"}) {
    EXPECT_FALSE(ParseImageName(bad)) << bad;
  }
}

TEST(RegistryPath, IsDockersOwnUnlessTheNameBeginsWithAHost) {
  const auto of = [](const char* image) { return RegistryPathOf(*ParseImageName(image)); };
  EXPECT_EQ(of("a"), (RegistryPath{"docker.io", "library/a"}));
  EXPECT_EQ(of("a/b:1"), (RegistryPath{"docker.io", "a/b"}));
  EXPECT_EQ(of("host:5000/a/b:1"), (RegistryPath{"host:5000", "a/b"}));
  EXPECT_EQ(of("r.example/a"), (RegistryPath{"r.example", "a"}));
  EXPECT_EQ(of("localhost/a"), (RegistryPath{"localhost", "a"}));
}

TEST(ImageDigest, ReplacesTheTag) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  EXPECT_TRUE(IsImageDigest(digest));
  EXPECT_FALSE(IsImageDigest("sha256:" + std::string(63, 'a')));
  EXPECT_FALSE(IsImageDigest("sha256:" + std::string(64, 'g')));
  EXPECT_FALSE(IsImageDigest(std::string(71, 'a')));
  EXPECT_EQ(PinnedImage(*ParseImageName("h:1/a:t"), digest), "h:1/a@" + digest);
}

TEST(RegistryLogin, IsAUserAndAPassword) {
  EXPECT_EQ(*ParseRegistryLogin("ann:p:w\n"), (RegistryLogin{"ann", "p:w"}));
  for (const char* bad : {"", "ann", ":pw", "ann:", "\n"}) {
    EXPECT_FALSE(ParseRegistryLogin(bad)) << bad;
  }
}

}  // namespace
}  // namespace tidemill
