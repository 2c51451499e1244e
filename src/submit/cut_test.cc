// SPDX-License-Identifier: Apache-2.0
#include "submit/cut.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/bytes.h"
#include "base/limits.h"

namespace tidemill {
namespace {

using Lines = std::vector<std::string>;

// What a cut part unpacks to; checks the limits of every chunk on the way.
Lines Unpacked(const CutPart& part) {
  Lines lines;
  for (const CutChunk& chunk : part.chunks) {
    EXPECT_GT(chunk.length, 0);
    EXPECT_LE(chunk.length, limits::kItemsPerChunk);
    EXPECT_LE(Decompress(chunk.body, limits::kPartBytes).value().size(), limits::kChunkTextBytes);
    auto items = UnpackItems(chunk.body, chunk.length);
    EXPECT_TRUE(items.has_value());
    lines.insert(lines.end(), items->begin(), items->end());
  }
  EXPECT_EQ(part.items, static_cast<std::int64_t>(lines.size()));
  return lines;
}

std::vector<int> Lengths(std::string_view text) {
  std::vector<int> lengths;
  const CutPart part = CutLines(text).value();
  for (const CutChunk& chunk : part.chunks) lengths.push_back(chunk.length);
  return lengths;
}

std::string Repeat(int times, const std::string& line) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line;
  return text;
}

std::string WhyNot(std::string_view text) {
  const auto part = CutLines(text);
  if (part) return "it can be cut";
  EXPECT_EQ(part.error().code, Code::kInvalid);
  return part.error().reason;
}

std::string AnyLine() {
  const auto pieces = *rc::gen::nonEmpty(rc::gen::container<Lines>(
      rc::gen::elementOf(Lines{"a", "b/c.blend", " ", "\t", "{\"k\":1}", "é", "日本", "😀", "\x7f",
                               "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\r!"})));
  std::string line;
  for (const std::string& piece : pieces) line += piece;
  return line;
}

RC_GTEST_PROP(CutLines, GivesChunksThatUnpackToTheLines, ()) {
  const auto lines = *rc::gen::nonEmpty(rc::gen::container<Lines>(rc::gen::exec(AnyLine)));
  std::string text;
  for (const std::string& line : lines) {
    if (!text.empty()) text += *rc::gen::elementOf(Lines{"\n", "\r\n"});
    text += line;
  }
  text += *rc::gen::elementOf(Lines{"", "\n", "\r\n", "\n\n\n", "\r\n\n\r\n"});
  const auto part = CutLines(text);
  RC_ASSERT(part.has_value());
  RC_ASSERT(Unpacked(*part) == lines);
}

TEST(CutLines, CutsAfterAsManyItemsAsAChunkHolds) {
  EXPECT_EQ(Lengths(Repeat(2047, "x\n")), (std::vector{2047}));
  EXPECT_EQ(Lengths(Repeat(2048, "x\n")), (std::vector{2048}));
  EXPECT_EQ(Lengths(Repeat(2049, "x\n")), (std::vector{2048, 1}));
}

TEST(CutLines, CutsBeforeTheTextOfAChunkGrowsTooLong) {
  // 256 lines of 1,023 and the newlines between them are one byte less than the limit.
  const std::string line = std::string(1023, 'x') + "\n";
  EXPECT_EQ(Lengths(Repeat(256, line)), (std::vector{256}));
  EXPECT_EQ(Lengths("y" + Repeat(256, line)), (std::vector{256}));
  EXPECT_EQ(Lengths("yy" + Repeat(256, line)), (std::vector{255, 1}));
  EXPECT_EQ(Lengths(Repeat(257, line)), (std::vector{256, 1}));
}

TEST(CutLines, TakesItemsUpToTheLongest) {
  const std::string longest(limits::kItemBytes, 'x');
  EXPECT_EQ(Lengths(Repeat(9, longest + "\n")), (std::vector{3, 3, 3}));
  EXPECT_EQ(WhyNot("a\n" + longest + "x\nb\n"),
            "line 2 has 65537 bytes, an item at most 65536: keep data in an object store, and let "
            "the item name it");
}

TEST(CutLines, TakesAPartOfTheLargestSize) {
  std::string text = Repeat(static_cast<int>(limits::kPartBytes / 4), "abc\n");
  ASSERT_EQ(text.size(), limits::kPartBytes);
  const auto part = CutLines(text);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->items, static_cast<std::int64_t>(limits::kPartBytes / 4));
  text += "\n";
  EXPECT_EQ(WhyNot(text), "has 8388609 bytes, a part at most 8388608: send it as several parts");
}

TEST(CutLines, RefusesAnEmptyPart) {
  for (const char* text : {"", "\n", "\r\n", "\n\n\r\n"}) {
    EXPECT_EQ(WhyNot(text), "has no items: send at least one line");
  }
}

TEST(CutLines, RefusesAnEmptyLineBetweenOthers) {
  EXPECT_EQ(WhyNot("\na"), "line 1 is empty: remove it, every line is an item");
  EXPECT_EQ(WhyNot("a\r\nb\r\n\r\nc"), "line 3 is empty: remove it, every line is an item");
}

TEST(CutLines, RefusesANulAnywhereInALine) {
  for (std::size_t at = 0; at < 20; ++at) {
    std::string line(20, 'x');
    line[at] = '\0';
    EXPECT_EQ(WhyNot("first\n" + line),
              "line 2 has a NUL at byte " + std::to_string(at + 1) + ": remove it, items are text");
  }
}

TEST(CutLines, RefusesWhatIsNotStrictUtf8) {
  for (const char* bad : {
           "\x80",              // not a beginning
           "\xbf",              //
           "\xc3",              // cut off
           "\xe2\x82",          //
           "\xf0\x9f\x98",      //
           "\xc3(",             // not continued
           "\xe2(\xa1",         //
           "\xf0\x9f\x98(",     //
           "\xc0\x80",          // NUL, too long
           "\xc1\xbf",          // ASCII, too long
           "\xe0\x9f\xbf",      // two bytes would do
           "\xf0\x8f\xbf\xbf",  // three bytes would do
           "\xed\xa0\x80",      // the first surrogate
           "\xed\xbf\xbf",      // the last surrogate
           "\xf4\x90\x80\x80",  // U+110000
           "\xf5\x80\x80\x80",  //
           "\xff",              //
       }) {
    for (const std::string before : {"", "abc", "12345678", "é", "abcdefghijk"}) {
      EXPECT_EQ(WhyNot("one\ntwo\n" + before + bad + "\nfour"),
                "line 3 is not UTF-8 at byte " + std::to_string(before.size() + 1) +
                    ": convert the list, or encode the item");
    }
  }
}

// The other way to say what UTF-8 is: decode the number, then look at it.
bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const int size = byte(i) < 0x80             ? 1
                     : (byte(i) & 0xe0) == 0xc0 ? 2
                     : (byte(i) & 0xf0) == 0xe0 ? 3
                     : (byte(i) & 0xf8) == 0xf0 ? 4
                                                : 0;
    if (size == 0 || i + size > text.size()) return false;
    unsigned number = size == 1 ? byte(i) : byte(i) & (0x7f >> size);
    for (int k = 1; k < size; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
      number = number << 6 | (byte(i + k) & 0x3f);
    }
    constexpr unsigned kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (number < kLeast[size] || number > 0x10ffff) return false;
    if (number >= 0xd800 && number < 0xe000) return false;
    i += size;
  }
  return true;
}

RC_GTEST_PROP(CutLines, TakesExactlyTheLinesThatAreUtf8, ()) {
  const auto bytes = *rc::gen::container<std::vector<int>>(
      *rc::gen::inRange<std::size_t>(1, 12),
      rc::gen::elementOf(std::vector<int>{'a', 'b', 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2,
                                          0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5}));
  std::string line;
  for (const int byte : bytes) line.push_back(static_cast<char>(byte));
  RC_ASSERT(CutLines(line).has_value() == IsUtf8(line));
}

RC_GTEST_PROP(CutLines, SurvivesAnyBytes, (const std::string& text)) {
  if (const auto part = CutLines(text)) RC_ASSERT(part->items > 0);
}

TEST(UnpackItems, RefusesAnotherNumberOfItems) {
  const std::string body = Compress("a\nb\nc");
  EXPECT_EQ(UnpackItems(body, 3).value(), (Lines{"a", "b", "c"}));
  for (const int length : {-1, 0, 2, 4}) {
    const auto items = UnpackItems(body, length);
    ASSERT_FALSE(items.has_value());
    EXPECT_EQ(items.error().code, Code::kInvalid);
  }
}

TEST(UnpackItems, RefusesWhatIsNoBodyOfAChunk) {
  EXPECT_FALSE(UnpackItems("", 1).has_value());
  EXPECT_FALSE(UnpackItems("a\nb", 2).has_value());
  EXPECT_FALSE(UnpackItems(Compress(std::string(limits::kChunkTextBytes + 1, 'x')), 1).has_value());
}

}  // namespace
}  // namespace tidemill
