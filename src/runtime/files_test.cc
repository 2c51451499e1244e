// SPDX-License-Identifier: Apache-2.0
#include "runtime/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "runtime/scratch_test.h"

namespace tidemill {
namespace {

TEST(Files, AreReadWholeAndNotWithoutEnd) {
  const ScratchFolder scratch;
  const std::string path = scratch.Write("a", "12345");
  EXPECT_EQ(*ReadWhole(path, 5), "12345");
  EXPECT_EQ(ReadWhole(path, 4).error().code, Code::kExhausted);
  EXPECT_EQ(ReadWhole(path + "x", 4).error().code, Code::kNotFound);
  EXPECT_EQ(ReadWhole(scratch.path(), 4).error().code, Code::kUnavailable);
}

class ReplacedFiles : public testing::TestWithParam<Outlives> {};
INSTANTIATE_TEST_SUITE_P(Both, ReplacedFiles,
                         testing::Values(Outlives::kProcess, Outlives::kPowerCut));

TEST_P(ReplacedFiles, KeepModeAndOwner) {
  const Outlives outlives = GetParam();
  const ScratchFolder scratch;
  const std::string path = scratch.Write("a", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const bool is_root = geteuid() == 0;  // else the owner cannot be another
  ASSERT_TRUE(!is_root || chown(path.c_str(), 12, 34) == 0);
  ASSERT_EQ(symlink("a", (scratch.path() + "/link").c_str()), 0);
  ASSERT_TRUE(ReplaceWhole(scratch.path() + "/link", "new", outlives));
  struct stat found{};
  ASSERT_EQ(lstat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode, S_IFREG | 0640);
  EXPECT_EQ(found.st_uid, is_root ? 12 : geteuid());
  EXPECT_EQ(found.st_gid, is_root ? 34 : getegid());
  EXPECT_EQ(*ReadWhole(path, 10), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path() + "/link"));
  // Nothing is left beside it.
  EXPECT_EQ(scratch.Names(), (std::vector<std::string>{"a", "link"}));
}

TEST_P(ReplacedFiles, AreMadeIfTheyAreNotThere) {
  const ScratchFolder scratch;
  ASSERT_TRUE(ReplaceWhole(scratch.path() + "/a", "new", GetParam()));
  struct stat found{};
  ASSERT_EQ(lstat((scratch.path() + "/a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode, S_IFREG | 0644);
  EXPECT_EQ(ReplaceWhole(scratch.path() + "/no/a", "new", GetParam()).error().code,
            Code::kNotFound);
}

}  // namespace
}  // namespace tidemill
