// SPDX-License-Identifier: Apache-2.0
#include "data/mover/save_name.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(SaveNameTest, ComesBackAndItsTextHasTheOrderOfItsValues) {
  const std::vector<SaveName> rising = {
      {0, 1, 9, "b"}, {0, 1, 10, "a"}, {0, 2, 0, "a"}, {0, 10, 0, "a"}, {1, 1, 0, "a"}};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    EXPECT_EQ(ParseSaveName(FormatSaveName(rising[i])), rising[i]);
    if (i == 0) continue;
    EXPECT_LT(rising[i - 1], rising[i]);
    EXPECT_LT(FormatSaveName(rising[i - 1]), FormatSaveName(rising[i]));
  }
  EXPECT_EQ(FormatSaveName({0, 1, 12, "w.3"}), "00000000-00000001-0000000012-w.3.json");
}

TEST(SaveNameTest, OtherNamesAreNone) {
  for (const char* text :
       {"", "a.json", "00000000-00000001-0000000012-.json", "00000000-00000001-0000000012-w",
        "0-1-2-w.json", "0000000a-00000001-0000000012-w.json",
        "00000000-00000001-0000000012-a/b.json"}) {
    EXPECT_EQ(ParseSaveName(text), std::nullopt) << text;
  }
}

TEST(SaveNameTest, AnAttemptBeginsFromTheLatestBeforeIt) {
  const std::vector<SaveName> names = {
      {0, 1, 7, "a"}, {0, 2, 3, "b"}, {0, 2, 4, "zombie"}, {1, 1, 0, "c"}};
  EXPECT_EQ(NewestFor(names, 0, 1)->writer, "a");
  EXPECT_EQ(NewestFor(names, 0, 2)->writer, "zombie");
  EXPECT_EQ(NewestFor(names, 0, 9)->writer, "zombie");
  EXPECT_EQ(NewestFor(names, 1, 1)->writer, "c");
  EXPECT_EQ(NewestFor({}, 1, 1), nullptr);
  EXPECT_EQ(NewestFor({{2, 1, 0, "x"}}, 1, 5), nullptr);
}

}  // namespace
}  // namespace tidemill
