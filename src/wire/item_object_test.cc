// SPDX-License-Identifier: Apache-2.0
#include "wire/item_object.h"

#include <gtest/gtest.h>

#include "wire/item_field.h"

namespace tidemill {
namespace {

TEST(ItemObject, MakesAnObjectOfARecord) {
  const auto objects = ItemObjects::Of({"id", "a \"b\""});
  ASSERT_TRUE(objects);
  const auto item = objects->Format({"7", "two\nlines, \"é\""});
  ASSERT_TRUE(item);
  EXPECT_EQ(*item, R"({"id":"7","a \"b\"":"two\nlines, \"é\""})");
  EXPECT_EQ(ItemField(*item, "id").value(), "7");
}

TEST(ItemObject, RefusesWhatHasNoNameOrNoPlace) {
  EXPECT_FALSE(ItemObjects::Of({"a", "a"}));
  EXPECT_FALSE(ItemObjects::Of({"a", ""}));
  EXPECT_FALSE(ItemObjects::Of({"\xff"}));
  const auto objects = ItemObjects::Of({"a", "b"});
  EXPECT_EQ(objects->Format({"1"}).error().reason, "1 fields, where the first line has 2");
  EXPECT_FALSE(objects->Format({"1", "\xff"}));
}

TEST(ItemObject, RewritesItsTexts) {
  const auto rewrite = [](std::string& text) {
    if (text != "a") return false;
    text = "b";
    return true;
  };
  EXPECT_EQ(RewriteItemTexts(R"({"a": "a", "x": [1, {"y": "a"}]})", rewrite),
            R"({"a":"b","x":[1,{"y":"b"}]})");
  EXPECT_EQ(RewriteItemTexts(R"({"a": "c"})", rewrite), R"({"a": "c"})");
  EXPECT_EQ(RewriteItemTexts("{a", rewrite), "{a");
}

TEST(ItemObject, KnowsAnObject) {
  EXPECT_TRUE(CheckItemObject(R"({"a": [1, {"b": 2}]})"));
  for (const char* const line : {"[1]", "\"a\"", "{", "", "{} {}", "{\"a\":1,\"a\":2}"}) {
    EXPECT_FALSE(CheckItemObject(line)) << line;
  }
}

}  // namespace
}  // namespace tidemill
