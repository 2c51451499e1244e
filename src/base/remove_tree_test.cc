// SPDX-License-Identifier: Apache-2.0
#include "base/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

namespace fs = std::filesystem;

class RemoveTreeTest : public ::testing::Test {
 protected:
  RemoveTreeTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-tree-XXXXXX").string();
    top_ = mkdtemp(name.data());
  }
  ~RemoveTreeTest() override { RemoveTree(top_); }

  std::string top_;
};

TEST_F(RemoveTreeTest, RemovesFilesFoldersAndLinksButNotWhatLinksNameTo) {
  const std::string kept = top_ + "-kept";
  fs::create_directories(kept);
  std::ofstream(kept + "/file") << "text";
  fs::create_directories(top_ + "/a/b/c");
  fs::create_directories(top_ + "/empty");
  std::ofstream(top_ + "/a/b/file") << "text";
  fs::create_directory_symlink(kept, top_ + "/a/link");
  fs::create_symlink("nowhere", top_ + "/dangling");
  ASSERT_EQ(mkfifo((top_ + "/a/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(RemoveTree(top_));
  EXPECT_FALSE(fs::exists(top_));
  EXPECT_TRUE(fs::exists(kept + "/file"));
  EXPECT_TRUE(RemoveTree(kept));
  EXPECT_TRUE(RemoveTree(kept));  // is gone already
}

TEST_F(RemoveTreeTest, RemovesAChainThatIsDeeperThanThereAreDescriptorsAndPathsAreLong) {
  int at = open(top_.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 3000; ++i) {
    // As if somebody had thought of the names that are used here.
    const std::string name = ".lifted-" + std::to_string(i);
    ASSERT_EQ(mkdirat(at, name.c_str(), 0700), 0);
    ASSERT_EQ(mkdirat(at, "beside", 0700), 0);
    const int below = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(below, 0);
    close(at);
    at = below;
  }
  close(at);
  EXPECT_TRUE(RemoveTree(top_));
  EXPECT_FALSE(fs::exists(top_));
}

TEST_F(RemoveTreeTest, OpensFoldersThatWereShut) {
  fs::create_directories(top_ + "/a/b/c");
  fs::permissions(top_ + "/a/b", fs::perms::none);
  fs::permissions(top_ + "/a", fs::perms::none);
  EXPECT_TRUE(RemoveTree(top_));
  EXPECT_FALSE(fs::exists(top_));
}

}  // namespace
}  // namespace tidemill
