// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/state_folder.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

namespace fs = std::filesystem;

class StateFolderTest : public ::testing::Test {
 protected:
  StateFolderTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-state-XXXXXX").string();
    path_ = mkdtemp(name.data());
    path_ += "/of/agent";
  }
  ~StateFolderTest() override { fs::remove_all(fs::path(path_).parent_path().parent_path()); }

  std::string path_;
  SeededRandom random_{1};
};

TEST_F(StateFolderTest, KeepsIdAndSessionAndCountsTheStarts) {
  std::string id;
  {
    auto folder = StateFolder::Open(path_, random_);
    ASSERT_TRUE(folder);
    EXPECT_EQ((*folder)->run(), 1);
    EXPECT_EQ((*folder)->pass().session, SessionId{});
    id = (*folder)->id();
    (*folder)->Keep({{3, 4}, "token"});
  }
  auto folder = StateFolder::Open(path_, random_);
  ASSERT_TRUE(folder);
  EXPECT_EQ((*folder)->id(), id);
  EXPECT_EQ((*folder)->run(), 2);
  EXPECT_EQ((*folder)->pass().session, (SessionId{3, 4}));
}

TEST_F(StateFolderTest, IsForItsOwnerAloneWhateverTheUmask) {
  const mode_t before = umask(0);
  fs::create_directories(path_);
  const auto folder = StateFolder::Open(path_, random_);
  umask(before);
  ASSERT_TRUE(folder);
  const auto mode = [](const std::string& path) { return fs::status(path).permissions(); };
  const auto own = fs::perms::owner_read | fs::perms::owner_write;
  EXPECT_EQ(mode(path_), fs::perms::owner_all);
  EXPECT_EQ(mode(path_ + "/agent"), own);
  EXPECT_EQ(mode(path_ + "/lock"), own);
}

TEST_F(StateFolderTest, IsOfOneAgentAtATime) {
  auto first = StateFolder::Open(path_, random_);
  ASSERT_TRUE(first);
  const auto second = StateFolder::Open(path_, random_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kConflict);
}

TEST_F(StateFolderTest, AFileThatCannotBeReadIsAsNone) {
  fs::create_directories(path_);
  std::ofstream(path_ + "/agent") << "session no-uuid\nrun x\n\0\xff";
  const auto folder = StateFolder::Open(path_, random_);
  ASSERT_TRUE(folder);
  EXPECT_EQ((*folder)->run(), 1);
  EXPECT_EQ((*folder)->pass().session, SessionId{});
}

TEST_F(StateFolderTest, SaysWhyAFolderCannotBeUsed) {
  fs::create_directories(fs::path(path_).parent_path());
  std::ofstream(path_) << "a file";
  const auto folder = StateFolder::Open(path_, random_);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().reason.find(path_), std::string::npos);
}

}  // namespace
}  // namespace tidemill
