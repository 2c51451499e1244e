// SPDX-License-Identifier: Apache-2.0
#include "wire/local_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(LocalPoolJson, IsReadOrRefusedWithAReason) {
  EXPECT_EQ(*ParseLocalPool(""), LocalPool());
  EXPECT_EQ(*ParseLocalPool("{}"), LocalPool());
  EXPECT_EQ(*ParseLocalPool(R"({"engine":"docker","args":["--files","/d"],"capacity":0})"),
            (LocalPool{"docker", {"--files", "/d"}, 0}));
  for (const char* wrong : {"[]", "{", R"({"zone":"a"})", R"({"engine":"vm"})", R"({"args":"x"})",
                            R"({"args":[""]})", R"({"args":["a\u0000b"]})", R"({"capacity":-1})"}) {
    const auto read = ParseLocalPool(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_NE(read.error().reason, "") << wrong;
  }
}

}  // namespace
}  // namespace tidemill
