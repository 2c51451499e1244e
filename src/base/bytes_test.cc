// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <array>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemill {
namespace {

std::string Varint(std::uint64_t value) {
  std::string out;
  PutVarint(out, value);
  return out;
}

std::string Signed(std::int64_t value) {
  std::string out;
  PutSigned(out, value);
  return out;
}

RC_GTEST_PROP(Varint, ComesBack, ()) {
  const auto bits = *rc::gen::inRange(0, 64);
  const auto value = *rc::gen::arbitrary<std::uint64_t>() >> bits;
  const std::string bytes = Varint(value);
  ByteReader reader(bytes);
  RC_ASSERT(reader.Varint() == value);
  RC_ASSERT(reader.ok() && reader.done());
  const auto number = static_cast<std::int64_t>(value);
  for (const std::int64_t either : {number, -(number / 2)}) {
    const std::string signed_bytes = Signed(either);
    reader = ByteReader(signed_bytes);
    RC_ASSERT(reader.Signed() == either);
    RC_ASSERT(reader.ok() && reader.done());
  }
}

TEST(Varint, HasSevenBitsAByteLowestFirst) {
  EXPECT_EQ(Varint(0), std::string(1, '\0'));
  EXPECT_EQ(Varint(127), "\x7f");
  EXPECT_EQ(Varint(128), "\x80\x01");
  EXPECT_EQ(Varint(300), "\xac\x02");
  EXPECT_EQ(Varint(~std::uint64_t{0}), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(Varint, KeepsSmallNegativeNumbersSmall) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Signed(0), Varint(0));
  EXPECT_EQ(Signed(-1), Varint(1));
  EXPECT_EQ(Signed(1), Varint(2));
  EXPECT_EQ(Signed(-2), Varint(3));
  EXPECT_EQ(Signed(kMost), Varint(~std::uint64_t{0} - 1));
  EXPECT_EQ(Signed(kLeast), Varint(~std::uint64_t{0}));
}

TEST(ByteReader, FailsOnNumbersThatAreCutOrTooLong) {
  for (const std::string& bytes : std::vector<std::string>{
           "", "\x80", "\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81", std::string(30, '\x80')}) {
    ByteReader reader(bytes);
    EXPECT_EQ(reader.Varint(), 0u);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(ByteReader, FailsForGoodOnceItHasFailed) {
  ByteReader reader("\x01\x02\x03");
  EXPECT_EQ(reader.Take(2), "\x01\x02");
  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(reader.done());
  EXPECT_EQ(reader.Take(2), "");
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Varint(), 0u);
  EXPECT_EQ(reader.Signed(), 0);
  EXPECT_EQ(reader.Take(0), "");
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, RefusesASizeFarPastTheEnd) {
  ByteReader reader("abc");
  reader.Take(~std::uint64_t{0});
  EXPECT_FALSE(reader.ok());
}

// The vectors of RFC 4648, section 10.
constexpr std::array<std::array<std::string_view, 2>, 7> kVectors = {{{"", ""},
                                                                      {"f", "Zg=="},
                                                                      {"fo", "Zm8="},
                                                                      {"foo", "Zm9v"},
                                                                      {"foob", "Zm9vYg=="},
                                                                      {"fooba", "Zm9vYmE="},
                                                                      {"foobar", "Zm9vYmFy"}}};

TEST(Base64, IsThatOfTheStandard) {
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    EXPECT_EQ(DecodeBase64(text), bytes);
  }
  EXPECT_EQ(EncodeBase64("\xfb\xff"), "+/8=");
}

RC_GTEST_PROP(Base64, ComesBack, (const std::string& bytes)) {
  const std::string text = EncodeBase64(bytes);
  RC_ASSERT(text.size() == (bytes.size() + 2) / 3 * 4);
  RC_ASSERT(DecodeBase64(text) == bytes);
}

TEST(Base64, RefusesWhatNoEncoderWrites) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "=", "==", "====", "Z===", "=Zg=", "Zg=g",
                           "Zm8=Zm8=", "Zm9v\n", "Zm 9", "Zm-_", "Zm9v====", "Zm9\xff"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

TEST(Base64, RefusesASecondTextForTheSameBytes) {
  EXPECT_EQ(DecodeBase64("Zh=="), std::nullopt);
  EXPECT_EQ(DecodeBase64("Zm9="), std::nullopt);
}

RC_GTEST_PROP(Base64, ReadsOnlyWhatItWouldWrite, ()) {
  const auto text =
      *rc::gen::container<std::string>(*rc::gen::elementOf(std::vector<std::size_t>{0, 4, 8}),
                                       rc::gen::elementOf(std::string("AQgw+/9=")));
  if (const auto bytes = DecodeBase64(text)) RC_ASSERT(EncodeBase64(*bytes) == text);
}

RC_GTEST_PROP(Compress, ComesBack, (const std::string& bytes)) {
  for (const int level : {1, 3}) {
    const auto back = Decompress(Compress(bytes, level), bytes.size());
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == bytes);
  }
}

TEST(Decompress, StopsAtTheLimit) {
  const std::string frame = Compress(std::string(1'000'000, 'x'));
  EXPECT_LT(frame.size(), 200u);
  EXPECT_TRUE(Decompress(frame, 1'000'000).has_value());
  const auto over = Decompress(frame, 999'999);
  ASSERT_FALSE(over.has_value());
  EXPECT_EQ(over.error().code, Code::kInvalid);
}

TEST(Decompress, RefusesAFrameThatLiesAboutItsSize) {
  // In a frame of one segment the byte after magic and header is the size.
  std::string frame = Compress("twelve bytes");
  ASSERT_EQ(frame[5], 12);
  for (const char claimed : {'\x00', '\x01', '\x0b', '\x0d', '\x7f'}) {
    frame[5] = claimed;
    EXPECT_FALSE(Decompress(frame, 1000).has_value()) << int{claimed};
  }
}

TEST(Decompress, RefusesFramesWithoutASizeAndBytesThatAreNone) {
  for (const std::string_view frame :
       {std::string_view(), std::string_view("plain"), std::string_view("\x28\xb5\x2f\xfd", 4),
        // A frame with a window and no size.
        std::string_view("\x28\xb5\x2f\xfd\x00\x58\x09\x00\x00\x61", 10)}) {
    EXPECT_FALSE(Decompress(frame, 1000).has_value());
  }
}

TEST(Decompress, RefusesTruncationsAndWhatFollowsTheFrame) {
  const std::string frame = Compress("a text that is not too long, and a text that is not");
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(Decompress(frame.substr(0, size), 1000).has_value()) << size;
  }
  EXPECT_FALSE(Decompress(frame + "x", 1000).has_value());
  EXPECT_FALSE(Decompress(frame + frame, 1000).has_value());
}

RC_GTEST_PROP(Decompress, SurvivesAnyBytes, (const std::string& bytes)) {
  const auto plain = Decompress(bytes, 1000);
  if (plain) RC_ASSERT(plain->size() <= 1000u);
  const auto framed = Decompress("\x28\xb5\x2f\xfd" + bytes, 1000);
  if (framed) RC_ASSERT(framed->size() <= 1000u);
}

}  // namespace
}  // namespace tidemill
