// SPDX-License-Identifier: Apache-2.0
// The frames of a loop, and of what items say of themselves.
#include <string>

#include <gtest/gtest.h>

#include "frame/frame.h"
#include "frame/frame_testing.h"
#include "frame/text.h"

namespace tidemill::frame {
namespace {

TEST(Item, ComesBackAsItWas) {
  const auto frame = EncodeItem(9, {.timeout_us = 5,
                                    .grace_us = 6,
                                    .name = 17,
                                    .alone = true,
                                    .tag = std::string_view("t\0g", 3),
                                    .json = R"({"item":17})"});
  ASSERT_TRUE(frame);
  const std::string payload = PayloadOf(*frame);
  const auto item = DecodeItem(payload);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->timeout_us, 5);
  EXPECT_EQ(item->grace_us, 6);
  EXPECT_EQ(item->name, 17U);
  EXPECT_TRUE(item->alone);
  EXPECT_EQ(item->tag, std::string_view("t\0g", 3));
  EXPECT_EQ(item->json, R"({"item":17})");
}

TEST(Item, IsNotMadeOfWhatIsNone) {
  EXPECT_FALSE(EncodeItem(1, {}));
  EXPECT_FALSE(EncodeItem(1, {.timeout_us = -1, .json = "{}"}));
  EXPECT_FALSE(EncodeItem(1, {.grace_us = -1, .json = "{}"}));
  const std::string tag(kTagBytes, 't');
  EXPECT_TRUE(EncodeItem(1, {.tag = tag, .json = "{}"}));
  EXPECT_FALSE(EncodeItem(1, {.tag = tag + "t", .json = "{}"}));
  const std::string longest(kPayloadToInit - 32, 'x');
  EXPECT_TRUE(EncodeItem(1, {.json = longest}));
  EXPECT_FALSE(EncodeItem(1, {.json = longest + "x"}));
}

TEST(Item, IsRefusedWhenItsPartsDoNotAddUp) {
  const std::string good = PayloadOf(*EncodeItem(1, {.tag = "tag", .json = "{}"}));
  ASSERT_TRUE(DecodeItem(good));
  for (std::size_t size = 0; size + 2 <= good.size(); ++size) {
    EXPECT_FALSE(DecodeItem(good.substr(0, size))) << size;
  }
  const auto with = [&](std::size_t place, char byte) {
    std::string bytes = good;
    bytes[place] = byte;
    return DecodeItem(bytes);
  };
  EXPECT_FALSE(with(7, '\x80'));
  EXPECT_FALSE(with(15, '\x80'));
  EXPECT_FALSE(with(24, 2));  // a flag that nobody knows
  EXPECT_FALSE(with(28, 5));  // a tag that leaves no json
  EXPECT_FALSE(with(31, 1));  // a tag that is longer than all
}

TEST(Program, IsARunWithoutANumber) {
  const std::string frame = *EncodeProgram({.argv = {"a"}});
  EXPECT_EQ(frame[0], 3);
  EXPECT_EQ(DecodeRun(PayloadOf(frame))->argv[0], "a");
  std::string numbered = frame;
  numbered[8] = 1;
  Reader reader(Reader::Side::kInit);
  reader.Feed(numbered);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.broken());
}

TEST(Run, HasATagOfABoundedLength) {
  const std::string tag(kTagBytes, '\0');
  const auto frame = EncodeRun(1, {.argv = {"a"}, .tag = tag});
  ASSERT_TRUE(frame);
  EXPECT_EQ(DecodeRun(PayloadOf(*frame))->tag, tag);
  EXPECT_FALSE(EncodeRun(1, {.argv = {"a"}, .tag = tag + "x"}));
}

TEST(Progress, ComesBackAsItWas) {
  const Progress progress{.permille = 400, .note = "epoch 3 \xc3\xbc"};
  EXPECT_EQ(DecodeProgress(PayloadOf(EncodeProgress(1, progress))), progress);
}

TEST(Progress, IsRefusedWhenItCannotBeTrue) {
  const auto refused = [](const Progress& progress) {
    return !DecodeProgress(PayloadOf(EncodeProgress(1, progress)));
  };
  EXPECT_FALSE(refused({.permille = 0}));
  EXPECT_FALSE(refused({.permille = 1000}));
  EXPECT_TRUE(refused({.permille = -1}));
  EXPECT_TRUE(refused({.permille = 1001}));
  EXPECT_TRUE(refused({.note = "two\nlines"}));
  EXPECT_TRUE(refused({.note = "\x1b[2J"}));
  EXPECT_TRUE(refused({.note = "\xff"}));
  EXPECT_FALSE(DecodeProgress("abc"));
  EXPECT_FALSE(DecodeProgress(std::string(4 + kNoteBytes + 1, '\0')));
}

TEST(Progress, HasANoteThatIsCutBetweenCharacters) {
  const std::string note = std::string(kNoteBytes - 1, 'x') + "\xc3\xbc";
  const std::string payload = PayloadOf(EncodeProgress(1, {.note = note}));
  const auto progress = DecodeProgress(payload);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->note, std::string(kNoteBytes - 1, 'x'));
}

TEST(Text, IsUtf8OnlyAsItMustBe) {
  for (const char* good : {"", "abc\n", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x8c\x8a"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf8",
                          "\xf4\x90\x80\x80", "\xc3x"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
  EXPECT_FALSE(IsLine("a\tb"));
  EXPECT_FALSE(IsLine("\xc2\x9b"));  // a control character of two bytes
  EXPECT_EQ(LineOf("a\tb\xc2\x9b\x7f"
                   "c"),
            "a b  c");
  EXPECT_TRUE(IsLine("\xc2\xa0"));
}

TEST(Text, IsMadeOfCodePoints) {
  std::string out;
  for (const char32_t point : {U'a', U'\u00fc', U'\u20ac', U'\U0001f30a'}) {
    AppendCodePoint(out, point);
  }
  EXPECT_EQ(out, "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x8c\x8a");
}

}  // namespace
}  // namespace tidemill::frame
