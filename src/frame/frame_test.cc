// SPDX-License-Identifier: Apache-2.0
#include "frame/frame.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemill::frame {
namespace {

using Side = Reader::Side;

// A frame that owns its bytes.
struct Kept {
  Kind kind = Kind::kHello;
  std::uint64_t number = 0;
  std::string payload;
  bool operator==(const Kept&) const = default;
};

struct Seen {
  std::vector<Kept> frames;
  bool broken = false;
  bool operator==(const Seen&) const = default;
};

void TakeAll(Reader& reader, Seen& seen) {
  while (const auto frame = reader.Next()) {
    seen.frames.push_back({frame->kind, frame->number, std::string(frame->payload)});
  }
  seen.broken = reader.broken();
}

Seen ReadWhole(Side side, std::string_view bytes) {
  Reader reader(side);
  Seen seen;
  reader.Feed(bytes);
  TakeAll(reader, seen);
  return seen;
}

// The only frame of a stream that holds just one.
Kept ReadOne(Side side, std::string_view bytes) {
  const Seen seen = ReadWhole(side, bytes);
  EXPECT_FALSE(seen.broken);
  if (seen.frames.size() != 1) {
    ADD_FAILURE() << seen.frames.size() << " frames";
    return {};
  }
  return seen.frames[0];
}

std::string AnyText() {
  auto text = *rc::gen::container<std::string>(rc::gen::inRange('\1', '\x7f'));
  return text;
}

std::string AnyBytes(std::size_t most) {
  auto bytes = *rc::gen::arbitrary<std::string>();
  return bytes.substr(0, most);
}

std::int64_t AnyTime() {
  return *rc::gen::oneOf(
      rc::gen::elementOf(std::vector<std::int64_t>{0, std::numeric_limits<std::int64_t>::max()}),
      rc::gen::nonNegative<std::int64_t>());
}

End AnyEnd() {
  End end;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      end.exit = *rc::gen::inRange(0, kExitMost + 1);
      break;
    case 1:
      end.signal = *rc::gen::inRange(1, kSignalMost + 1);
      break;
    case 2:
      end.error = *rc::gen::inRange(1, kErrorMost + 1);
      end.no_secrets = *rc::gen::arbitrary<bool>();
      break;
    default:
      break;
  }
  std::tie(end.timed_out, end.stopped, end.skipped) =
      *rc::gen::arbitrary<std::tuple<bool, bool, bool>>();
  const bool by_itself = !end.timed_out && !end.stopped && !end.skipped && end.error == 0;
  if (by_itself && *rc::gen::arbitrary<bool>()) {
    end.out_of_memory = end.exit + end.signal != 0;
    end.among_others = !end.out_of_memory;
  }
  end.result = *rc::gen::elementOf(
      std::vector<std::string>{"", "1", "{\"a\":[]}", "\"" + std::string(4094, 'x') + "\""});
  end.start_ms = AnyTime();
  end.duration_us = AnyTime();
  end.cpu_us = AnyTime();
  end.memory_bytes = AnyTime();
  return end;
}

std::string AnyFrame(Side side) {
  const auto number = *rc::gen::arbitrary<std::uint64_t>();
  if (side == Side::kAgent) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        return EncodeHello();
      case 2:
        return EncodeProgress(number, {*rc::gen::inRange(0, 1001), "a note"});
      case 1:
        return EncodeLog(number, AnyBytes(kPayloadToAgent));
      default:
        return EncodeEnd(number, AnyEnd());
    }
  }
  if (*rc::gen::arbitrary<bool>()) return EncodeStop(number);
  const std::string text = AnyText();
  const std::string content = AnyBytes(40);
  Run run{.argv = {"program", text}, .env = {text}};
  if (*rc::gen::arbitrary<bool>()) run.secret_files = {{"a.b", content}, {"c", ""}};
  const std::string tag = AnyBytes(kTagBytes);
  run.tag = tag;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return *EncodeProgram(run);
    case 1:
      return *EncodeItem(number, {.name = number, .tag = tag, .json = "{}"});
    case 2:
      return EncodeNoMore();
    default:
      return *EncodeRun(number, run);
  }
}

// Frames, often with a byte changed or some bytes of nonsense at the end.
std::string AnyStream(Side side) {
  std::string bytes;
  const int frames = *rc::gen::inRange(0, 6);
  for (int i = 0; i < frames; ++i) bytes += AnyFrame(side);
  if (*rc::gen::arbitrary<bool>()) bytes += AnyBytes(40);
  if (!bytes.empty() && *rc::gen::arbitrary<bool>()) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  return bytes;
}

Side AnySide() { return *rc::gen::elementOf(std::vector<Side>{Side::kInit, Side::kAgent}); }

RC_GTEST_PROP(Run, ComesBackAsItWas, ()) {
  const auto number = *rc::gen::arbitrary<std::uint64_t>();
  const auto text = rc::gen::container<std::string>(rc::gen::inRange('\1', '\x7f'));
  const auto argv = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(text));
  const auto env = *rc::gen::container<std::vector<std::string>>(text);
  Run run;
  run.timeout_us = AnyTime();
  run.grace_us = AnyTime();
  run.argv.assign(argv.begin(), argv.end());
  run.env.assign(env.begin(), env.end());

  const auto bytes = EncodeRun(number, run);
  RC_ASSERT(bytes.has_value());
  const Kept kept = ReadOne(Side::kInit, *bytes);
  RC_ASSERT(kept.kind == Kind::kRun);
  RC_ASSERT(kept.number == number);
  const auto decoded = DecodeRun(kept.payload);
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(decoded->timeout_us == run.timeout_us);
  RC_ASSERT(decoded->grace_us == run.grace_us);
  RC_ASSERT(decoded->argv == run.argv);
  RC_ASSERT(decoded->env == run.env);
}

TEST(Run, HasEachStringFollowedByANul) {
  const Kept kept = ReadOne(Side::kInit, *EncodeRun(1, {.argv = {"a", ""}, .env = {"B=c"}}));
  const auto run = DecodeRun(kept.payload);
  ASSERT_TRUE(run);
  for (const std::string_view text : {run->argv[0], run->argv[1], run->env[0]}) {
    EXPECT_EQ(std::strlen(text.data()), text.size());
  }
}

TEST(Run, IsNotMadeOfWhatCannotBeRun) {
  EXPECT_FALSE(EncodeRun(1, {}));
  EXPECT_FALSE(EncodeRun(1, {.timeout_us = -1, .argv = {"a"}}));
  EXPECT_FALSE(EncodeRun(1, {.grace_us = -1, .argv = {"a"}}));
  EXPECT_FALSE(EncodeRun(1, {.argv = {std::string_view("a\0b", 3)}}));
  EXPECT_FALSE(EncodeRun(1, {.argv = {"a"}, .env = {std::string_view("A=\0", 3)}}));
}

TEST(Run, MayBeAsLongAsAFrameAndNotLonger) {
  const std::string longest(kPayloadToInit - 28 - 1, 'x');
  const auto bytes = EncodeRun(1, {.argv = {longest}});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), kHeaderBytes + kPayloadToInit);
  EXPECT_EQ(DecodeRun(ReadOne(Side::kInit, *bytes).payload)->argv[0], longest);
  EXPECT_FALSE(EncodeRun(1, {.argv = {longest + "x"}}));
  EXPECT_FALSE(EncodeRun(1, {.argv = {longest}, .env = {""}}));
}

TEST(Run, IsRefusedWhenItsPartsDoNotAddUp) {
  const std::string good =
      EncodeRun(1, {.timeout_us = 5, .grace_us = 6, .argv = {"a", "b"}, .env = {"C=d"}})
          ->substr(kHeaderBytes);
  ASSERT_TRUE(DecodeRun(good));
  const auto with = [&](std::size_t place, char byte) {
    std::string bytes = good;
    bytes[place] = byte;
    return DecodeRun(bytes);
  };
  EXPECT_FALSE(with(7, '\x80'));   // a negative timeout
  EXPECT_FALSE(with(15, '\x80'));  // a negative grace
  EXPECT_FALSE(with(16, 0));       // no argv
  EXPECT_FALSE(with(16, 1));       // a string too many
  EXPECT_FALSE(with(16, 3));       // one too few
  EXPECT_FALSE(with(19, '\x7f'));  // two thousand million strings
  EXPECT_FALSE(with(23, '\x7f'));
  EXPECT_FALSE(with(27, '\x7f'));            // a tag that is longer than a tag may be
  EXPECT_FALSE(with(good.size() - 1, 'x'));  // no NUL at the end
  EXPECT_FALSE(DecodeRun(good + "x"));
  EXPECT_FALSE(DecodeRun(std::string_view(good).substr(0, good.size() - 1)));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(DecodeRun(good.substr(0, size)));
}

RC_GTEST_PROP(Run, HasItsSecretFilesAsTheyWere, ()) {
  const auto contents =
      *rc::gen::container<std::vector<std::string>>(rc::gen::arbitrary<std::string>());
  Run run{.argv = {"a"}};
  for (std::size_t i = 0; i < std::min(contents.size(), kSecretFilesMost); ++i) {
    static constexpr std::string_view kNames = "abcdefghijklmnop";
    run.secret_files.push_back({kNames.substr(i, 1), contents[i]});
  }
  const auto bytes = EncodeRun(1, run);
  RC_ASSERT(bytes.has_value());
  const Kept kept = ReadOne(Side::kInit, *bytes);
  const auto decoded = DecodeRun(kept.payload);
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(decoded->secret_files.size() == run.secret_files.size());
  for (std::size_t i = 0; i < run.secret_files.size(); ++i) {
    RC_ASSERT(decoded->secret_files[i].name == run.secret_files[i].name);
    RC_ASSERT(decoded->secret_files[i].content == run.secret_files[i].content);
  }
}

Run WithFiles(std::vector<SecretFile> files) {
  return {.argv = {"a"}, .env = {}, .secret_files = std::move(files)};
}

TEST(Run, HasSecretFilesOfSaneNamesAndSizesOnly) {
  for (const std::string_view name :
       {"", ".", "..", ".a", "a/b", "/a", "-a", "a b", "\xc3\xbc", "../a"}) {
    EXPECT_FALSE(EncodeRun(1, WithFiles({{name, "x"}}))) << name;
  }
  EXPECT_FALSE(EncodeRun(1, WithFiles({{std::string_view("a\0b", 3), "x"}})));
  EXPECT_FALSE(EncodeRun(1, WithFiles({{"a", "x"}, {"a", "y"}})));
  EXPECT_FALSE(EncodeRun(1, WithFiles({{"b", "x"}, {"a", "y"}})));
  const std::string longest_name(kSecretNameBytes, 'x');
  EXPECT_TRUE(EncodeRun(1, WithFiles({{longest_name, ""}})));
  EXPECT_FALSE(EncodeRun(1, WithFiles({{longest_name + "x", ""}})));
  const std::string largest(kSecretFileBytes, '\0');
  EXPECT_TRUE(EncodeRun(1, WithFiles({{"a", largest}})));
  EXPECT_FALSE(EncodeRun(1, WithFiles({{"a", largest + "x"}})));
  std::vector<std::string> names;
  for (char c = 'a'; c < 'a' + 17; ++c) names.push_back({c});
  std::vector<SecretFile> files;
  for (std::size_t i = 0; i < kSecretFilesMost; ++i) files.push_back({names[i], largest});
  EXPECT_TRUE(EncodeRun(1, WithFiles(files)));
  const std::string half(kPayloadToInit / 2, 'x');
  EXPECT_FALSE(EncodeRun(1, {.argv = {half}, .secret_files = files}));
  files.push_back({names[kSecretFilesMost], ""});
  EXPECT_FALSE(EncodeRun(1, WithFiles(files)));
}

TEST(Run, IsRefusedWhenItsSecretFilesDoNotAddUp) {
  const std::string bare = EncodeRun(1, WithFiles({}))->substr(kHeaderBytes);
  const std::string good = EncodeRun(1, WithFiles({{"a", "xyz"}, {"b", ""}}))->substr(kHeaderBytes);
  ASSERT_TRUE(DecodeRun(good));
  for (std::size_t size = bare.size() + 1; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeRun(good.substr(0, size))) << size;
  }
  EXPECT_FALSE(DecodeRun(good + std::string(1, '\0')));
  const auto with = [&](std::size_t place, char byte) {
    std::string bytes = good;
    bytes[bare.size() + place] = byte;
    return DecodeRun(bytes);
  };
  EXPECT_FALSE(with(0, 0));       // none, which would be said by leaving them away
  EXPECT_FALSE(with(0, 1));       // one file too many
  EXPECT_FALSE(with(0, 3));       // one too few
  EXPECT_FALSE(with(3, '\x7f'));  // two thousand million of them
  EXPECT_FALSE(with(4, '/'));     // a name that is none
  EXPECT_FALSE(with(4, 'c'));     // not by name
  EXPECT_FALSE(with(6, 4));       // a content that reaches into the next file
  EXPECT_FALSE(with(9, '\x7f'));  // a content that is longer than the frame
  EXPECT_TRUE(with(10, '\0'));    // contents are bytes
}

TEST(Reader, KeepsNothingOfWhatItHasForgotten) {
  const std::string secret = "not-to-be-found-again";
  const std::string run = *EncodeRun(1, WithFiles({{"a", secret}}));
  Reader reader(Side::kInit);
  reader.Feed(run + run.substr(0, 30));
  const auto frame = reader.Next();
  ASSERT_TRUE(frame);
  const std::string_view bytes = frame->payload;
  ASSERT_NE(bytes.find(secret), std::string_view::npos);
  reader.Forget();
  EXPECT_EQ(bytes.find(secret), std::string_view::npos);
  reader.Feed(run.substr(30));
  const auto again = reader.Next();
  ASSERT_TRUE(again);
  EXPECT_EQ(DecodeRun(again->payload)->secret_files[0].content, secret);
}

RC_GTEST_PROP(End, ComesBackAsItWas, ()) {
  const auto number = *rc::gen::arbitrary<std::uint64_t>();
  const End end = AnyEnd();
  const Kept kept = ReadOne(Side::kAgent, EncodeEnd(number, end));
  RC_ASSERT(kept.kind == Kind::kEnd);
  RC_ASSERT(kept.number == number);
  RC_ASSERT(DecodeEnd(kept.payload) == end);
}

TEST(End, IsRefusedWhenItCannotBeTrue) {
  const auto refused = [](const End& end) {
    return !DecodeEnd(std::string_view(EncodeEnd(1, end)).substr(kHeaderBytes));
  };
  EXPECT_FALSE(refused({.exit = 255}));
  EXPECT_FALSE(refused({.signal = 64}));
  EXPECT_FALSE(refused({.error = 4095}));
  EXPECT_TRUE(refused({.exit = 256}));
  EXPECT_TRUE(refused({.exit = -1}));
  EXPECT_TRUE(refused({.signal = 65}));
  EXPECT_TRUE(refused({.signal = -9}));
  EXPECT_TRUE(refused({.error = 4096}));
  EXPECT_TRUE(refused({.error = -2}));
  EXPECT_TRUE(refused({.exit = 1, .signal = 9}));
  EXPECT_TRUE(refused({.exit = 1, .error = 2}));
  EXPECT_FALSE(refused({.error = 28, .no_secrets = true}));
  EXPECT_TRUE(refused({.no_secrets = true}));
  EXPECT_TRUE(refused({.exit = 1, .no_secrets = true}));
  EXPECT_FALSE(refused({.signal = 9, .out_of_memory = true}));
  EXPECT_TRUE(refused({.out_of_memory = true}));
  EXPECT_TRUE(refused({.error = 2, .out_of_memory = true}));
  EXPECT_TRUE(refused({.signal = 9, .stopped = true, .out_of_memory = true}));
  EXPECT_TRUE(refused({.signal = 9, .timed_out = true, .out_of_memory = true}));
  EXPECT_FALSE(refused({.signal = 9, .among_others = true}));
  EXPECT_TRUE(refused({.signal = 9, .out_of_memory = true, .among_others = true}));
  EXPECT_TRUE(refused({.skipped = true, .among_others = true}));
  EXPECT_TRUE(refused({.start_ms = -1}));
  EXPECT_TRUE(refused({.duration_us = -1}));
  EXPECT_TRUE(refused({.cpu_us = -1}));
  EXPECT_TRUE(refused({.memory_bytes = -1}));
  EXPECT_FALSE(refused({.result = "null"}));
  EXPECT_TRUE(refused({.result = "{"}));
  EXPECT_TRUE(refused({.result = "1 2"}));
  EXPECT_TRUE(refused({.result = "\"\xff\""}));
}

TEST(End, IsRefusedWithAFlagThatNobodyKnows) {
  std::string bytes = EncodeEnd(1, {}).substr(kHeaderBytes);
  ASSERT_TRUE(DecodeEnd(bytes));
  bytes[12] = 64;
  EXPECT_FALSE(DecodeEnd(bytes));
  EXPECT_FALSE(DecodeEnd(bytes + "x"));
  EXPECT_FALSE(DecodeEnd(""));
}

TEST(Hello, TellsTheVersion) {
  const Kept kept = ReadOne(Side::kAgent, EncodeHello());
  EXPECT_EQ(kept.kind, Kind::kHello);
  EXPECT_EQ(DecodeHello(kept.payload), Hello{});
  EXPECT_EQ(DecodeHello(EncodeHello(7).substr(kHeaderBytes))->runs, 7U);
  EXPECT_TRUE(DecodeHello(EncodeHello(kRunsMost).substr(kHeaderBytes)));
  EXPECT_FALSE(DecodeHello(EncodeHello(kRunsMost + 1).substr(kHeaderBytes)));
}

TEST(Hello, OfTheVersionBeforeStreamsIsTakenWhole) {
  EXPECT_EQ(DecodeHello(std::string_view("\2\0\0\0\7\0\0\0", 8)), (Hello{.version = 2, .runs = 7}));
  EXPECT_FALSE(DecodeHello(std::string_view("\2\0\0\0\xff\xff\0\0", 8)));
}

TEST(Hello, OfALaterVersionMayBeLonger) {
  EXPECT_EQ(DecodeHello(std::string_view("\4\0\0\0and more", 12))->version, 4U);
  EXPECT_EQ(DecodeHello(std::string_view("\1\0\0\0", 4))->version, 1U);
  for (const char version : {'\2', '\3'}) {
    EXPECT_FALSE(DecodeHello(version + std::string(3, '\0')));
    EXPECT_FALSE(DecodeHello(version + std::string("\0\0\0and more", 11)));
  }
  EXPECT_FALSE(DecodeHello(std::string_view("\0\0\0\0", 4)));
  EXPECT_FALSE(DecodeHello("abc"));
  EXPECT_FALSE(DecodeHello(std::string(257, 'x')));
}

TEST(Log, CarriesWhatFitsIntoAFrame) {
  const std::string bytes(kPayloadToAgent + 1, 'x');
  const Kept kept = ReadOne(Side::kAgent, EncodeLog(7, bytes));
  EXPECT_EQ(kept.kind, Kind::kLog);
  EXPECT_EQ(kept.number, 7U);
  EXPECT_EQ(kept.payload.size(), kPayloadToAgent);
}

TEST(Frame, HasTheBytesThatAreDrawn) {
  EXPECT_EQ(EncodeStop(0x0807060504030201),
            std::string("\2\0\0\0\0\0\0\0\1\2\3\4\5\6\7\x8", kHeaderBytes));
  EXPECT_EQ(EncodeHello().substr(0, kHeaderBytes),
            std::string("\x10\0\0\0\x8\0\0\0\0\0\0\0\0\0\0\0", kHeaderBytes));
}

RC_GTEST_PROP(Reader, GivesTheSameFramesHoweverTheStreamIsCut, ()) {
  const Side side = AnySide();
  const std::string bytes = AnyStream(side);
  const Seen whole = ReadWhole(side, bytes);

  Reader reader(side);
  Seen seen;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto piece = *rc::gen::inRange<std::size_t>(1, 24);
    reader.Feed(std::string_view(bytes).substr(at, piece));
    at += piece;
    TakeAll(reader, seen);
  }
  RC_ASSERT(seen == whole);
}

RC_GTEST_PROP(Reader, StaysBrokenOnceItIs, ()) {
  const Side side = AnySide();
  Reader reader(side);
  reader.Feed(std::string(kHeaderBytes, '\xff'));
  Seen seen;
  TakeAll(reader, seen);
  RC_ASSERT(seen.broken);
  reader.Feed(AnyStream(side));
  TakeAll(reader, seen);
  RC_ASSERT(seen.broken);
  RC_ASSERT(seen.frames.empty());
}

TEST(Reader, HoldsNoMoreThanAFrameAndARead) {
  const std::string longest = EncodeLog(1, std::string(kPayloadToAgent, 'x'));
  std::string stream;
  for (int i = 0; i < 200; ++i) stream += longest + EncodeEnd(1, {});
  const std::size_t read_bytes = 10'000;
  Reader reader(Side::kAgent);
  for (std::size_t at = 0; at < stream.size(); at += read_bytes) {
    reader.Feed(std::string_view(stream).substr(at, read_bytes));
    while (reader.Next()) {
    }
    // A string doubles when it grows.
    ASSERT_LE(reader.held_bytes(), 2 * (longest.size() + read_bytes));
  }
  reader.Feed(std::string(kHeaderBytes, 'x'));
  ASSERT_FALSE(reader.Next());
  reader.Feed(stream);
  EXPECT_LE(reader.held_bytes(), kHeaderBytes);
}

TEST(Reader, HandsOutWhatCameBeforeTheBreak) {
  const std::string bytes = EncodeStop(1) + EncodeStop(2) + std::string(kHeaderBytes, 'x');
  const Seen seen = ReadWhole(Side::kInit, bytes + EncodeStop(3));
  EXPECT_EQ(seen.frames.size(), 2U);
  EXPECT_TRUE(seen.broken);
}

TEST(Reader, TakesOnlyWhatMayComeToItsSide) {
  const std::string run = *EncodeRun(1, {.argv = {"a"}});
  const std::string program = *EncodeProgram({.argv = {"a"}});
  const std::string item = *EncodeItem(1, {.json = "{}"});
  for (const std::string& bytes : {run, EncodeStop(1), program, item, *EncodeRole("{}"),
                                   EncodeNoMore(), EncodeHeard(1), EncodeQuit()}) {
    EXPECT_TRUE(ReadWhole(Side::kAgent, bytes).broken);
    EXPECT_FALSE(ReadWhole(Side::kInit, bytes).broken);
  }
  for (const std::string& bytes : {EncodeHello(), EncodeLog(1, "a"), EncodeEnd(1, {}),
                                   EncodeProgress(1, {}), EncodeHave(1, "tag")}) {
    EXPECT_TRUE(ReadWhole(Side::kInit, bytes).broken);
    EXPECT_FALSE(ReadWhole(Side::kAgent, bytes).broken);
  }
}

TEST(Reader, RefusesALengthAsSoonAsItIsSeen) {
  const auto header = [](Kind kind, std::uint32_t length) {
    std::string bytes = EncodeStop(1);
    bytes[0] = static_cast<char>(kind);
    for (std::size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<char>(length >> (8 * i));
    return bytes;
  };
  EXPECT_FALSE(ReadWhole(Side::kInit, header(Kind::kRun, kPayloadToInit)).broken);
  EXPECT_TRUE(ReadWhole(Side::kInit, header(Kind::kRun, kPayloadToInit + 1)).broken);
  EXPECT_TRUE(ReadWhole(Side::kInit, header(Kind::kRun, 28)).broken);
  EXPECT_TRUE(ReadWhole(Side::kInit, header(Kind::kStop, 1)).broken);
  EXPECT_FALSE(ReadWhole(Side::kAgent, header(Kind::kLog, kPayloadToAgent)).broken);
  EXPECT_TRUE(ReadWhole(Side::kAgent, header(Kind::kLog, kPayloadToAgent + 1)).broken);
  EXPECT_TRUE(ReadWhole(Side::kAgent, header(Kind::kEnd, 47)).broken);
  EXPECT_FALSE(ReadWhole(Side::kAgent, header(Kind::kEnd, 48 + kResultBytes)).broken);
  EXPECT_TRUE(ReadWhole(Side::kAgent, header(Kind::kEnd, 48 + kResultBytes + 1)).broken);
  EXPECT_TRUE(ReadWhole(Side::kAgent, header(Kind::kHello, 4)).broken);  // with a number
}

TEST(Reader, RefusesAHeaderWhoseZerosAreNot) {
  for (std::size_t i = 1; i < 4; ++i) {
    std::string bytes = EncodeStop(1);
    bytes[i] = 1;
    EXPECT_TRUE(ReadWhole(Side::kInit, bytes).broken) << i;
  }
}

}  // namespace
}  // namespace tidemill::frame
