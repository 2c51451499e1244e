// SPDX-License-Identifier: Apache-2.0
#include "init/bodies.h"

#include <gtest/gtest.h>

namespace tidemill::init {
namespace {

TEST(Results, AreReadAsTheyAreDefined) {
  const auto results =
      ReadResults(R"({"results":[{"item":17},{"exit":3,"item":18,"error":"te\nxt"}]})");
  ASSERT_TRUE(results);
  EXPECT_EQ(*results, (std::vector<ItemResult>{{17, 0, ""}, {18, 3, "te\nxt"}}));
  EXPECT_EQ(ReadResults("")->size(), 0U);
  EXPECT_EQ((*ReadResults(R"({"results":[{"item":1,"result": {"a":[1, "]"]} }]})"))[0].result,
            R"({"a":[1, "]"]})");
  EXPECT_EQ((*ReadResults(R"({"results":[{"result":0.5,"item":1}]})"))[0].result, "0.5");
  const std::string most = "{\"results\":[{\"item\":1,\"result\":\"" + std::string(4094, 'x');
  EXPECT_TRUE(ReadResults(most + "\"}]}"));
  EXPECT_FALSE(ReadResults(most + "x\"}]}"));
  EXPECT_EQ(ReadResults("{}")->size(), 0U);
  EXPECT_EQ(ReadResults(R"({"results":[]})")->size(), 0U);
}

TEST(Results, AreRefusedIfTheyAreNone) {
  for (const char* bad :
       {"[]", "x", R"({"result":[]})", R"({"results":{}})", R"({"results":[1]})",
        R"({"results":[{}]})", R"({"results":[{"item":"17"}]})", R"({"results":[{"item":-1}]})",
        R"({"results":[{"item":1,"exit":256}]})", R"({"results":[{"item":1,"exit":-1}]})",
        R"({"results":[{"item":1,"erorr":"x"}]})", R"({"results":[{"item":1,"item":2}]})",
        R"({"results":[{"item":1,"result":{"a":}}]})", R"({"results":[{"item":1,"result":}]})",
        R"({"results":[{"item":1,"result":1,"result":2}]})",
        R"({"results":[{"item":1,"error":null}]})", R"({"results":[]}x)",
        R"({"results":[],"results":[]})"}) {
    EXPECT_FALSE(ReadResults(bad)) << bad;
  }
}

TEST(Progress, IsReadAsItIsDefined) {
  const auto progress = ReadProgress(R"({"item":17,"fraction":0.4,"note":"epoch\t3"})");
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->item, 17U);
  EXPECT_EQ(progress->permille, 400);
  EXPECT_EQ(progress->note, "epoch 3");
  EXPECT_FALSE(ReadProgress(R"({"fraction":1})")->item);
  EXPECT_EQ(ReadProgress(R"({"fraction":1})")->permille, 1000);
  EXPECT_EQ(ReadProgress(R"({"note":"only"})")->note, "only");
  const std::string longest = "{\"note\":\"" + std::string(5000, 'x') + "\"}";
  EXPECT_EQ(ReadProgress(longest)->note.size(), 200U);
}

TEST(Progress, IsRefusedIfItIsNone) {
  for (const char* bad :
       {"", "{}", R"({"item":1})", R"({"fraction":1.1})", R"({"fraction":-0.1})",
        R"({"fraction":"1"})", R"({"fraction":1,"x":2})", R"({"note":5})", "[0.5]"}) {
    EXPECT_FALSE(ReadProgress(bad)) << bad;
  }
}

}  // namespace
}  // namespace tidemill::init
