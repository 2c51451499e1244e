// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/tree_bytes.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

namespace fs = std::filesystem;

TEST(TreeBytes, CountsFilesAtAnyDepthAndFollowsNoLink) {
  char name[] = "/tmp/tidemill-bytes-XXXXXX";
  const fs::path root = mkdtemp(name);
  const fs::path inside = root / "in";
  fs::create_directories(inside / "a/b/c");
  fs::create_directories(root / "out");
  std::ofstream(root / "out/large") << std::string(8 << 20, 'x');
  EXPECT_LT(TreeBytes(inside), 1 << 20);
  std::ofstream(inside / "a/b/c/file") << std::string(2 << 20, 'x');
  std::ofstream(inside / "file") << std::string(1 << 20, 'x');
  fs::create_symlink(root / "out", inside / "a/link");
  fs::create_symlink(root / "out/large", inside / "link");
  fs::create_symlink(inside, inside / "a/circle");
  EXPECT_GE(TreeBytes(inside), 3 << 20);
  EXPECT_LT(TreeBytes(inside), 4 << 20);
  fs::create_symlink(inside, root / "way");
  EXPECT_EQ(TreeBytes(root / "way"), 0);
  EXPECT_EQ(TreeBytes(root / "none"), 0);
  fs::remove_all(root);
}

}  // namespace
}  // namespace tidemill
