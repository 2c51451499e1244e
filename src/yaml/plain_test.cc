// SPDX-License-Identifier: Apache-2.0
#include "yaml/plain.h"

#include <gtest/gtest.h>

#include "yaml/yaml.h"

namespace tidemill {
namespace {

TEST(PlainYaml, IsWhatToJsonMakesOfIt) {
  for (const char* yaml : {
           "a: b\n",
           "a: b",
           "---\na: 1\nb: 2\nc: 1.50\nd: true\n",
           "a:\n  b: c\n  d:\n    e: \"f: #g\"\nh: /i/j\n",
           "a:\n- b\n- c: d\n  e: f\n- g:\n  - h\n  - i\n  j: k\n",
           "a:\n    - b: \"0\"\n      c:\n        d:\n            - e: /f\n            - e: /g\n",
           "- a\n- --b\n- \"\"\n- ../c::/d\n- -e\n- 0.5.0\n- 0x10\n",
           "a: A=b=c,d\na.b/c-d_e: f\n",
           "- a:\n  - b\n- c\n",
           "v: 0\nw: null\nx: \"null\"\n",
       }) {
    const auto json = PlainYamlToJson(yaml);
    const auto slow = ToJson(yaml);
    ASSERT_TRUE(slow) << slow.error().reason << "\n" << yaml;
    ASSERT_TRUE(json) << yaml;
    EXPECT_EQ(*json, slow->json) << yaml;
  }
}

// All of these are for ToJson: to be read otherwise, or to be refused with a reason.
TEST(PlainYaml, LeavesTheRest) {
  for (const char* yaml : {"",
                           "\n",
                           "a\n",
                           "a: b\n\nc: d\n",
                           "a: b # c\n",
                           "# a\nb: c\n",
                           "a: b c\n",
                           "a: [b]\n",
                           "a: {b: c}\n",
                           "a: 'b'\n",
                           "a: \"b\\n\"\n",
                           "a: \"b\"c\"\n",
                           "a: \"b\n",
                           "a: \"b\" c\n",
                           "\"a\": b\n",
                           "a: &b c\n",
                           "a: *b\n",
                           "a: !b c\n",
                           "a: |\n  b\n",
                           "a:\n",
                           "a: \n",
                           "a:  b\n",
                           "a: b \n",
                           "a: b:\n",
                           "a: b\na: c\n",
                           "a: b\n  c: d\n",
                           "a: b\n  c\n",
                           "  a: b\nc: d\n",
                           "a:\n  - b\n - c\n",
                           "a:\n- b\nc\n",
                           "a:\n  b: c\n d: e\n",
                           "- a\nb: c\n",
                           "- - a\n",
                           "-\n  a: b\n",
                           "-  a: b\n   c: d\n",
                           "a: 0644\n",
                           "a: .inf\n",
                           "a: 99999999999999999999\n",
                           "true: a\n",
                           "null: a\n",
                           "1: a\n",
                           "a: b\r\n",
                           "a:\tb\n",
                           "a: \xc3\xbc\n",
                           "a: b\n---\nc: d\n",
                           "a: b\n...\n",
                           "- -\n",
                           "- -1\n",
                           "- +1\n",
                           "- ---\n"}) {
    EXPECT_EQ(PlainYamlToJson(yaml), std::nullopt) << yaml;
  }
}

TEST(PlainYaml, HasLimits) {
  std::string deep;
  for (int i = 0; i < 17; ++i) deep += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(PlainYamlToJson(deep + std::string(17, ' ') + "a: b\n"), std::nullopt);
  std::string longest;
  for (int i = 0; i < 30'000; ++i) longest += "- a\n";
  EXPECT_TRUE(PlainYamlToJson(longest));
  EXPECT_EQ(PlainYamlToJson(longest + "- a\n"), std::nullopt);
}

}  // namespace
}  // namespace tidemill
