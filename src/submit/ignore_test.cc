// SPDX-License-Identifier: Apache-2.0
#include "submit/ignore.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Ignore, LeavesOutWhatIsNoCode) {
  const auto rules = IgnoreRules::Parse("");
  ASSERT_TRUE(rules);
  for (const char* const folder : {".git", "a/.git", "a/b/__pycache__", ".venv", "node_modules"}) {
    EXPECT_TRUE(rules->LeavesOut(folder, true)) << folder;
  }
  for (const char* const name : {"a.pyc", "a/b.pyc", ".git", ".tidemillignore", "a/.DS_Store"}) {
    EXPECT_TRUE(rules->LeavesOut(name, false)) << name;
  }
  for (const char* const name : {"a.py", "venv", "a/git", ".gitignore", ".env"}) {
    EXPECT_FALSE(rules->LeavesOut(name, false)) << name;
  }
}

TEST(Ignore, TakesLinesAsGitDoes) {
  const auto rules = IgnoreRules::Parse(
      "# data\n\n*.csv\n!keep.csv\n/out\nbuild/\na/*.txt\nb/**/x\n!__pycache__/ \r\n");
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->LeavesOut("a.csv", false));
  EXPECT_TRUE(rules->LeavesOut("d/a.csv", false));
  EXPECT_FALSE(rules->LeavesOut("d/keep.csv", false));
  EXPECT_TRUE(rules->LeavesOut("out", true));
  EXPECT_TRUE(rules->LeavesOut("out", false));
  EXPECT_FALSE(rules->LeavesOut("a/out", true));
  EXPECT_TRUE(rules->LeavesOut("a/build", true));
  EXPECT_FALSE(rules->LeavesOut("a/build", false));
  EXPECT_TRUE(rules->LeavesOut("a/b.txt", false));
  EXPECT_FALSE(rules->LeavesOut("c/a/b.txt", false));
  EXPECT_TRUE(rules->LeavesOut("b/c/d/x", false));
  EXPECT_FALSE(rules->LeavesOut("__pycache__", true));
}

TEST(Ignore, SaysWhichLineIsWrong) {
  EXPECT_TRUE(IgnoreRules::Parse("ok\na[b\n").error().reason.starts_with("2: a '['"));
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "a\n";
  EXPECT_FALSE(IgnoreRules::Parse(many));
}

}  // namespace
}  // namespace tidemill
