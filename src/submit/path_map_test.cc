// SPDX-License-Identifier: Apache-2.0
#include "submit/path_map.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(PathMap, RewritesWhatBeginsWithWholeParts) {
  const std::map<std::string, std::string> paths = {
      {"/mnt/nas", "s3://bucket/"}, {"/mnt/nas/raw/", "s3://raw/x"}, {"D:", "/d/"}};
  const PathMap map(paths);
  const auto of = [&](std::string text) {
    map.Rewrite(text);
    return text;
  };
  EXPECT_EQ(of("/mnt/nas/a/b.jpg"), "s3://bucket/a/b.jpg");
  EXPECT_EQ(of("/mnt/nas/raw/b.jpg"), "s3://raw/x/b.jpg");
  EXPECT_EQ(of("/mnt/nas/rawer/b.jpg"), "s3://bucket/rawer/b.jpg");
  EXPECT_EQ(of("/mnt/nasty/b.jpg"), "/mnt/nasty/b.jpg");
  EXPECT_EQ(of("/mnt/nas"), "s3://bucket");
  EXPECT_EQ(of("D:/x"), "/d/x");
  EXPECT_EQ(of("x/mnt/nas/y"), "x/mnt/nas/y");
  std::string same = "/mnt/other";
  EXPECT_FALSE(map.Rewrite(same));
  EXPECT_TRUE(PathMap().empty());
  const std::map<std::string, std::string> all = {{"/", "s3://all/"}};
  EXPECT_TRUE(PathMap(all).Rewrite(same));
  EXPECT_EQ(same, "s3://all/mnt/other");
}

}  // namespace
}  // namespace tidemill
