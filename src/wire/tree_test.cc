// SPDX-License-Identifier: Apache-2.0
#include "wire/tree.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

std::string Again(std::string_view text) {
  const Result<Tree> tree = ParseTree(text);
  return tree ? FormatTreeShort(*tree) : "refused: " + tree.error().reason;
}

TEST(Tree, KeepsWhatItRead) {
  for (const char* text : {"true", "-7", "9223372036854775807", "18446744073709551615", "0.1",
                           "1.0", "1e+300", "\"a \\\"b\\\" \\n\"", "[]", "{}", "[1, [true, {}]]",
                           "{\"a\": 1, \"b\": {\"c\": [0.5]}}"}) {
    EXPECT_EQ(Again(text), text);
  }
}

TEST(Tree, KnowsSignedFromUnsignedByTheNumberAlone) {
  const auto held = [](const Tree& tree) { return tree.value.index(); };
  EXPECT_EQ(held(TreeOf(7)), held(*ParseTree("7")));
  EXPECT_EQ(held(*ParseTree("7")), held(*ParseTree("-7")));
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(held(TreeOf(most)), held(*ParseTree(std::to_string(most))));
  EXPECT_NE(held(TreeOf(most)), held(TreeOf(7)));
}

TEST(Tree, WritesALineAField) {
  Tree::Object inner{{"parts", Tree(Tree::List{TreeOf(3), TreeOf(5)})}};
  const Tree tree(Tree::Object{{"seed", TreeOf(7)},
                               {"jobs", Tree(Tree::List{Tree(std::move(inner))})},
                               {"none", Tree(Tree::List{})},
                               {"empty", Tree()}});
  EXPECT_EQ(FormatTree(tree),
            "{\n"
            "  \"seed\": 7,\n"
            "  \"jobs\": [\n"
            "    {\n"
            "      \"parts\": [3, 5]\n"
            "    }\n"
            "  ],\n"
            "  \"none\": [],\n"
            "  \"empty\": {}\n"
            "}\n");
}

TEST(Tree, RefusesWhatItCannotHold) {
  EXPECT_EQ(Again("{\"a\": [1, null]}"), "refused: a[1]: must not be null");
  EXPECT_EQ(Again("{\"a\": 1, \"a\": 2}"), "refused: the field 'a' is there twice");
  EXPECT_EQ(Again("18446744073709551616"), "refused: an integer of over 64 bits");
  EXPECT_TRUE(Again("{\"a\": 1").starts_with("refused: not JSON"));
}

}  // namespace
}  // namespace tidemill
