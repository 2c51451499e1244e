// SPDX-License-Identifier: Apache-2.0
#include "cli/item_source.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

// Gives the text in pieces of at most `step` bytes.
ItemSource Source(std::string text, std::size_t part_bytes, std::size_t step = 3) {
  return ItemSource(
      [text = std::move(text), at = std::size_t{0}, step](
          char* to, std::size_t size) mutable -> Result<std::size_t> {
        const std::size_t some = std::min({size, step, text.size() - at});
        std::memcpy(to, text.data() + at, some);
        at += some;
        return some;
      },
      "list", part_bytes);
}

std::vector<std::string> AllParts(ItemSource& source) {
  std::vector<std::string> parts;
  while (true) {
    auto part = source.Next();
    if (!part) return {"error: " + part.error().reason};
    if (part->empty()) return parts;
    parts.push_back(*part);
  }
}

using Parts = std::vector<std::string>;

TEST(ItemSource, CutsWhereLinesEnd) {
  ItemSource source = Source("aa\nbb\ncc\ndd\n", 7);
  EXPECT_EQ(AllParts(source), (Parts{"aa\nbb\n", "cc\ndd\n"}));
  EXPECT_EQ(source.items(), 4);
  EXPECT_EQ(source.bytes(), 12);
  EXPECT_EQ(source.part_line(), 3);
}

TEST(ItemSource, TakesAPartThatFitsToTheByte) {
  ItemSource source = Source("aa\nbb\n", 6);
  EXPECT_EQ(AllParts(source), (Parts{"aa\nbb\n"}));
  ItemSource more = Source("aa\nbb\nc\n", 6);
  EXPECT_EQ(AllParts(more), (Parts{"aa\nbb\n", "c\n"}));
}

TEST(ItemSource, EndsTheLastLineIfNobodyDid) {
  ItemSource source = Source("aa\nbb", 100);
  EXPECT_EQ(AllParts(source), (Parts{"aa\nbb\n"}));
  EXPECT_EQ(source.items(), 2);
}

TEST(ItemSource, LetsEmptyLinesStandAtTheEndOnly) {
  ItemSource source = Source("aa\n\n\r\n", 4);
  EXPECT_EQ(AllParts(source), (Parts{"aa\n"}));
  EXPECT_EQ(source.items(), 1);
  // Also where the cut falls between the empty line and the next.
  for (const std::size_t part_bytes : {3, 4, 5, 100}) {
    ItemSource bad = Source("aa\n\nbb\n", part_bytes);
    EXPECT_EQ(AllParts(bad), (Parts{"error: list:2: an empty line; every line is an item"}))
        << part_bytes;
  }
}

TEST(ItemSource, NamesALineThatIsTooLong) {
  ItemSource source = Source("a\n" + std::string(70'000, 'x') + "\n", 1 << 20, 1 << 20);
  const Parts parts = AllParts(source);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].starts_with("error: list:2: an item of 70,000 bytes")) << parts[0];
  ItemSource endless = Source("a\n" + std::string(50, 'x'), 10);
  EXPECT_TRUE(AllParts(endless)[0].starts_with("error: list:2: this line has more than"));
}

TEST(ItemSource, HasNothingIfThereIsNothing) {
  ItemSource source = Source("", 10);
  EXPECT_EQ(AllParts(source), Parts{});
  ItemSource lines = Source("\n\n\n", 2);
  EXPECT_EQ(AllParts(lines), Parts{});
  EXPECT_EQ(lines.items(), 0);
}

TEST(ItemSource, SaysThatAListCannotBeRead) {
  ItemSource source(
      [](char*, std::size_t) -> Result<std::size_t> {
        return Fail(Code::kInternal, "it is a folder");
      },
      "list");
  const auto part = source.Next();
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().reason, "read list: it is a folder");
}

}  // namespace
}  // namespace tidemill::cli
