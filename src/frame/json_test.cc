// SPDX-License-Identifier: Apache-2.0
#include "frame/json.h"

#include <string>

#include <gtest/gtest.h>

namespace tidemill::frame {
namespace {

bool IsJson(std::string_view text) {
  JsonReader reader(text);
  return reader.Skip() && reader.AtEnd();
}

TEST(Json, IsTakenAsItIsDefined) {
  for (const char* good :
       {"{}", "[]", " [ 1 , 2.5e-3 , -0 , \"a\\u00fc\\n\" , null , true , false , {} ] ", "\"\"",
        R"({"a":{"b":[[]]},"a":1})", "0", "1E5", R"("\ud83c\udf0a")"}) {
    EXPECT_TRUE(IsJson(good)) << good;
  }
  for (const char* bad : {"",          "{",       "}",           "[1,]",        "[,1]",
                          "[1 2]",     "{\"a\"}", "{\"a\":}",    "{a:1}",       "{\"a\":1,}",
                          "01",        "1.",      ".5",          "+1",          "1e",
                          "-",         "nul",     "truex",       "\"",          "\"\\x\"",
                          "\"\\u12\"", "\"\n\"",  R"("\ud83c")", R"("\udf0a")", R"("\ud83c\ud83c")",
                          "\"\xff\"",  "[] []",   "'a'",         "NaN"}) {
    EXPECT_FALSE(IsJson(bad)) << bad;
  }
}

TEST(Json, IsNotDeeperThanItMayBe) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(IsJson(nested(JsonReader::kDepthMost)));
  EXPECT_FALSE(IsJson(nested(JsonReader::kDepthMost + 1)));
  EXPECT_FALSE(IsJson(std::string(1'000'000, '[')));
}

TEST(Json, HasNumbersThatAreWholeOrNot) {
  std::uint64_t whole = 0;
  EXPECT_TRUE(JsonReader("18446744073709551615").Whole(whole));
  EXPECT_EQ(whole, ~std::uint64_t{0});
  for (const char* bad : {"18446744073709551616", "-1", "1.0", "1e3", "\"1\"", ""}) {
    EXPECT_FALSE(JsonReader(bad).Whole(whole)) << bad;
  }
  double number = 0;
  EXPECT_TRUE(JsonReader("-2.5e1").Number(number));
  EXPECT_EQ(number, -25);
  EXPECT_FALSE(JsonReader("1e999").Number(number));
}

TEST(Json, ComesBackFromText) {
  const std::string text = "a\"b\\c\n\t\x01 \xc3\xbc";
  std::string again;
  EXPECT_TRUE(JsonReader(JsonText(text)).Text(again));
  EXPECT_EQ(again, text);
}

TEST(ItemName, IsTheNumberOfAnObjectInOneLine) {
  EXPECT_EQ(ItemNameOf(R"({"item":17})"), 17U);
  EXPECT_EQ(ItemNameOf(R"({"text":"x","value":{"item":"y"},"item":0})"), 0U);
  for (const char* none :
       {"", "17", "[]", "{}", R"({"item":"17"})", R"({"item":-1})", R"({"item":1.5})",
        R"({"item":1,"item":1})", R"({"item":1}x)", "{\"item\":1\n}", R"({"value":{"item":1}})"}) {
    EXPECT_EQ(ItemNameOf(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace tidemill::frame
