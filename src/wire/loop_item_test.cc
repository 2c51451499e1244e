// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_item.h"

#include <string>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

std::string Text(std::string_view text) {
  return LoopItemText({.item = 17, .text = text, .job = "render-7", .attempt = 2});
}

TEST(LoopItem, IsAnObjectInOneLine) {
  EXPECT_EQ(Text("a \"b\"\n"), R"({"item":17,"text":"a \"b\"\n","job":"render-7","attempt":2})");
  EXPECT_EQ(Text(std::string_view("\0\x1f", 2)),
            R"({"item":17,"text":"\u0000\u001f","job":"render-7","attempt":2})");
}

TEST(LoopItem, HasTheValueOfATextThatIsAnObject) {
  EXPECT_EQ(Text("  {\"w\": 3,\n \"o\": {}}"),
            R"({"item":17,"text":"  {\"w\": 3,\n \"o\": {}}","job":"render-7","attempt":2,)"
            R"("value":{"o":{},"w":3}})");
  EXPECT_EQ(Text("{no").find("value"), std::string::npos);
  EXPECT_EQ(Text("[1]").find("value"), std::string::npos);
}

TEST(LoopItem, ReplacesWhatIsNotText) {
  EXPECT_EQ(Text("\xff"),
            "{\"item\":17,\"text\":\"\xef\xbf\xbd\",\"job\":\"render-7\",\"attempt\":2}");
}

TEST(LoopItem, HasThePathsOfItsData) {
  EXPECT_EQ(LoopItemText({.item = 1,
                          .text = "a",
                          .job = "j-1",
                          .inputs = {{"", "/in/a"}},
                          .outputs = {{"x", "/out/x"}, {"y", "/out/y"}}}),
            R"({"item":1,"text":"a","job":"j-1","attempt":1,"input":"/in/a",)"
            R"("output":{"x":"/out/x","y":"/out/y"}})");
}

}  // namespace
}  // namespace tidemill
