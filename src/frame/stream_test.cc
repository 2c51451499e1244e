// SPDX-License-Identifier: Apache-2.0
#include "frame/stream.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "frame/frame_testing.h"

namespace tidemill::frame {
namespace {

using Side = Reader::Side;

bool Takes(Side side, const std::string& frame) {
  Reader reader(side);
  reader.Feed(frame);
  return reader.Next().has_value();
}

std::string With(std::string bytes, std::size_t place, char byte) {
  bytes[place] = byte;
  return bytes;
}

TEST(Open, OfAProgramComesBackAsItWas) {
  const auto frame = EncodeOpen(9, {.terminal = true,
                                    .size = {.rows = 1, .columns = 65535},
                                    .program = {.argv = {"sh", "-c", ""}, .env = {"A=b"}}});
  ASSERT_TRUE(frame);
  ASSERT_TRUE(Takes(Side::kInit, *frame));
  const std::string payload = PayloadOf(*frame);
  const auto open = DecodeOpen(payload);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->port, 0);
  EXPECT_TRUE(open->terminal);
  EXPECT_EQ(open->size, (TerminalSize{.rows = 1, .columns = 65535}));
  EXPECT_EQ(open->program.argv, (std::vector<std::string_view>{"sh", "-c", ""}));
  EXPECT_EQ(open->program.env, (std::vector<std::string_view>{"A=b"}));
  const std::string piped = PayloadOf(*EncodeOpen(9, {.program = {.argv = {"a"}}}));
  EXPECT_FALSE(DecodeOpen(piped)->terminal);
  EXPECT_EQ(DecodeOpen(piped)->size, TerminalSize{});
}

TEST(Open, OfAPortHasNothingElse) {
  const std::string payload = PayloadOf(*EncodeOpen(1, {.port = 65535, .size = {0, 0}}));
  EXPECT_EQ(payload, std::string("\0\0\0\0\xff\xff\0\0\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(DecodeOpen(payload)->port, 65535);
  EXPECT_TRUE(DecodeOpen(payload)->program.argv.empty());
  EXPECT_FALSE(DecodeOpen(payload + "x"));
  EXPECT_FALSE(DecodeOpen(With(payload, 0, 1)));
  EXPECT_FALSE(DecodeOpen(With(payload, 6, 1)));
  EXPECT_FALSE(DecodeOpen(With(payload, 8, 1)));
  EXPECT_FALSE(DecodeOpen(With(payload, 12, 1)));
}

TEST(Open, IsNotMadeOfWhatIsNone) {
  EXPECT_FALSE(EncodeOpen(1, {}));
  EXPECT_FALSE(EncodeOpen(1, {.size = {.rows = 0}, .program = {.argv = {"a"}}}));
  EXPECT_FALSE(EncodeOpen(1, {.size = {.columns = 0}, .program = {.argv = {"a"}}}));
  // What an Open has before its program takes from the room of that.
  const std::string longest(kPayloadToInit - 16 - 29, 'x');
  EXPECT_TRUE(EncodeOpen(1, {.program = {.argv = {longest}}}));
  EXPECT_FALSE(EncodeOpen(1, {.program = {.argv = {longest + "x"}}}));
}

TEST(Open, IsRefusedWhenItsPartsDoNotAddUp) {
  const std::string good = PayloadOf(*EncodeOpen(1, {.program = {.argv = {"a"}}}));
  ASSERT_TRUE(DecodeOpen(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeOpen(good.substr(0, size))) << size;
  }
  EXPECT_FALSE(DecodeOpen(With(good, 0, 2)));   // a flag that nobody knows
  EXPECT_FALSE(DecodeOpen(With(good, 8, 0)));   // no rows
  EXPECT_FALSE(DecodeOpen(With(good, 10, 1)));  // too many of them
  EXPECT_FALSE(DecodeOpen(With(good, 12, 0)));
  EXPECT_FALSE(DecodeOpen(With(good, 14, 1)));
  EXPECT_FALSE(DecodeOpen(With(good, 32, 0)));  // no argv
}

TEST(Resize, HasASizeThatATerminalCanHave) {
  const std::string payload = PayloadOf(EncodeResize(1, {.rows = 258, .columns = 3}));
  EXPECT_EQ(payload, std::string("\2\1\0\0\3\0\0\0", 8));
  EXPECT_EQ(DecodeResize(payload), (TerminalSize{.rows = 258, .columns = 3}));
  EXPECT_FALSE(DecodeResize(payload.substr(1)));
  EXPECT_FALSE(DecodeResize(payload + "x"));
  EXPECT_FALSE(DecodeResize(With(payload, 2, 1)));
  EXPECT_FALSE(DecodeResize(With(payload, 4, 0)));
  EXPECT_FALSE(DecodeResize(PayloadOf(EncodeResize(1, {.rows = 0}))));
}

TEST(Flag, IsOneOfTwo) {
  for (const bool flag : {false, true}) {
    EXPECT_EQ(DecodeFlag(PayloadOf(EncodeHold(1, flag))), flag);
    EXPECT_EQ(DecodeFlag(PayloadOf(EncodeFull(1, flag))), flag);
  }
  EXPECT_FALSE(DecodeFlag(std::string_view("\2\0\0\0", 4)));
  EXPECT_FALSE(DecodeFlag(std::string_view("\0\0\0\1", 4)));
  EXPECT_FALSE(DecodeFlag("abc"));
  EXPECT_FALSE(DecodeFlag(std::string(5, '\0')));
}

TEST(Over, ComesBackAsItWas) {
  for (const Over& over : {Over{}, Over{.exit = 255}, Over{.error = kErrorMost},
                           Over{.exit = 137, .with_item = true}}) {
    EXPECT_EQ(DecodeOver(PayloadOf(EncodeOver(1, over))), over);
  }
}

TEST(Over, IsRefusedWhenItCannotBeTrue) {
  const auto refused = [](const Over& over) { return !DecodeOver(PayloadOf(EncodeOver(1, over))); };
  EXPECT_TRUE(refused({.exit = -1}));
  EXPECT_TRUE(refused({.exit = 256}));
  EXPECT_TRUE(refused({.error = -1}));
  EXPECT_TRUE(refused({.error = kErrorMost + 1}));
  EXPECT_TRUE(refused({.exit = 1, .error = 1}));
  const std::string good = PayloadOf(EncodeOver(1, {}));
  EXPECT_FALSE(DecodeOver(With(good, 8, 2)));
  EXPECT_FALSE(DecodeOver(good + "x"));
  EXPECT_FALSE(DecodeOver(good.substr(1)));
}

TEST(StreamBytes, AreCutAtTheirLimit) {
  const std::string bytes(kStreamBytes + 1, 'x');
  for (const std::string& frame : {EncodeOutput(1, bytes), EncodeErrors(1, bytes)}) {
    EXPECT_EQ(PayloadOf(frame), bytes.substr(1));
    EXPECT_TRUE(Takes(Side::kAgent, frame));
  }
  EXPECT_TRUE(Takes(Side::kInit, EncodeGive(1, bytes)));
  EXPECT_TRUE(Takes(Side::kInit, EncodeGive(1, "")));
  EXPECT_FALSE(Takes(Side::kAgent, EncodeOutput(1, "")));
  EXPECT_FALSE(Takes(Side::kAgent, EncodeErrors(1, "")));
  // A header that says one more.
  EXPECT_FALSE(Takes(Side::kInit, With(EncodeGive(1, bytes), 4, 1) + "x"));
}

TEST(StreamFrames, ComeOnlyWhereTheyMay) {
  const auto sides_of = [](const std::string& frame) {
    std::string sides;
    if (Takes(Side::kInit, frame)) sides += "i";
    if (Takes(Side::kAgent, frame)) sides += "a";
    if (Takes(Side::kCarrier, frame)) sides += "c";
    if (Takes(Side::kPerson, frame)) sides += "p";
    return sides;
  };
  for (const std::uint64_t number : {0, 7}) {
    const bool is_alone = number == 0;  // on a connection of its own
    EXPECT_EQ(sides_of(*EncodeOpen(number, {.port = 1})), "i");
    EXPECT_EQ(sides_of(EncodeHold(number, true)), "i");
    EXPECT_EQ(sides_of(EncodeClose(number)), "i");
    EXPECT_EQ(sides_of(EncodeGive(number, "a")), is_alone ? "ic" : "i");
    EXPECT_EQ(sides_of(EncodeResize(number, {})), is_alone ? "ic" : "i");
    EXPECT_EQ(sides_of(EncodeOutput(number, "a")), is_alone ? "ap" : "a");
    EXPECT_EQ(sides_of(EncodeErrors(number, "a")), is_alone ? "ap" : "a");
    EXPECT_EQ(sides_of(EncodeOver(number, {})), is_alone ? "ap" : "a");
    EXPECT_EQ(sides_of(EncodeFull(number, true)), "a");
  }
  EXPECT_EQ(sides_of(EncodeLog(0, "a")), "a");
  EXPECT_EQ(sides_of(EncodeQuit()), "i");
}

}  // namespace
}  // namespace tidemill::frame
