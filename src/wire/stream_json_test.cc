// SPDX-License-Identifier: Apache-2.0
#include "wire/stream_json.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace tidemill {
namespace {

StreamAsk AnyAsk(Random& random) {
  StreamAsk ask;
  const auto any = [&random] { return static_cast<std::uint16_t>(1 + random.Below(65'535)); };
  if (random.Chance(0.2)) {
    ask.port = any();
    return ask;
  }
  for (std::uint64_t i = random.Below(5); i > 0; --i) {
    std::string& word = ask.command.emplace_back(ask.command.empty() ? "a" : "");
    for (std::uint64_t c = random.Below(9); c > 0; --c) {
      word.push_back(static_cast<char>(1 + random.Below(127)));
    }
  }
  ask.terminal = random.Chance(0.5);
  ask.rows = any();
  ask.columns = any();
  if (random.Chance(0.5)) ask.term = "xterm-256color+1._";
  return ask;
}

std::string WhyNotAsk(const std::string& body) {
  const auto read = ParseStreamAsk(body);
  if (read) return "";
  EXPECT_EQ(read.error().code, Code::kInvalid);
  return read.error().reason;
}

std::string WhyNotRefusal(const std::string& body) {
  const auto read = ParseRefusal(body);
  return read ? "" : read.error().reason;
}

RC_GTEST_PROP(StreamJson, AnAskComesBackAsItWent, (std::uint64_t seed)) {
  SeededRandom random(seed);
  const StreamAsk ask = AnyAsk(random);
  const auto back = ParseStreamAsk(FormatStreamAsk(ask));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == ask);
}

RC_GTEST_PROP(StreamJson, ADamagedAskIsReadOrRefused, (std::uint64_t seed)) {
  SeededRandom random(seed);
  std::string body = FormatStreamAsk(AnyAsk(random));
  body.resize(random.Below(body.size() + 1));
  for (std::uint64_t i = random.Below(4); i > 0 && !body.empty(); --i) {
    body[random.Below(body.size())] = static_cast<char>(random.Next());
  }
  const auto read = ParseStreamAsk(body);
  RC_ASSERT(read.has_value() || read.error().code == Code::kInvalid);
}

TEST(StreamJson, LooksAsTheContractSays) {
  EXPECT_EQ(FormatStreamAsk({.port = 8888, .command = {"ls"}}), R"({"port":8888})");
  EXPECT_EQ(FormatStreamAsk({}), R"({"terminal":false,"rows":24,"columns":80})");
  EXPECT_EQ(FormatStreamAsk({.command = {"ls", "-l"}, .terminal = true, .term = "xterm"}),
            R"({"command":["ls","-l"],"terminal":true,"rows":24,"columns":80,"term":"xterm"})");
}

TEST(StreamJson, WhatIsAbsentIsAsUsual) {
  EXPECT_EQ(*ParseStreamAsk("{}"), StreamAsk{});
  EXPECT_EQ(*ParseStreamAsk(R"({"command":[],"term":""})"), StreamAsk{});
}

TEST(StreamJson, WhatIsWrongIsNamed) {
  EXPECT_EQ(WhyNotAsk("[]"), "the body: must be an object, not an array");
  EXPECT_EQ(WhyNotAsk(R"({"colums":80})"),
            "the body: unknown field 'colums'; did you mean 'columns'?");
  EXPECT_EQ(WhyNotAsk(R"({"rows":0})"), "rows: must be from 1 to 65535");
  EXPECT_EQ(WhyNotAsk(R"({"columns":65536})"), "columns: must be from 1 to 65535");
  EXPECT_EQ(WhyNotAsk(R"({"terminal":1})"), "terminal: must be true or false, not a number");
  EXPECT_EQ(WhyNotAsk(R"({"term":"a b"})"),
            "term: may have letters, digits and any of . _ + - only");
  EXPECT_EQ(WhyNotAsk(R"({"term":")" + std::string(65, 'x') + R"("})"),
            "term: is longer than 64 bytes");
}

TEST(StreamJson, APortIsAllThatIsAskedFor) {
  EXPECT_EQ(WhyNotAsk(R"({"port":65535})"), "");
  EXPECT_EQ(WhyNotAsk(R"({"port":0})"), "port: must be from 1 to 65535");
  EXPECT_EQ(WhyNotAsk(R"({"port":65536})"), "port: must be from 1 to 65535");
  EXPECT_EQ(WhyNotAsk(R"({"port":80,"terminal":false})"), "port: must be the only field");
  EXPECT_EQ(WhyNotAsk(R"({"port":80,"x":1})"), "port: must be the only field");
}

TEST(StreamJson, ACommandHasItsLimits) {
  EXPECT_EQ(ParseStreamAsk(R"({"command":["a","","b\nc"]})")->command,
            (std::vector<std::string>{"a", "", "b\nc"}));
  EXPECT_EQ(WhyNotAsk(R"({"command":"ls"})"), "command: must be an array, not a string");
  EXPECT_EQ(WhyNotAsk(R"({"command":["ls",1]})"), "command[1]: must be a string");
  EXPECT_EQ(WhyNotAsk(R"({"command":["ls","a\u0000"]})"), "command[1]: must not have a NUL");
  EXPECT_EQ(WhyNotAsk(R"({"command":[""]})"), "command[0]: must name a program");
  StreamAsk ask{.command = std::vector<std::string>(kStreamWords, "x")};
  EXPECT_EQ(WhyNotAsk(FormatStreamAsk(ask)), "");
  ask.command.emplace_back("x");
  EXPECT_EQ(WhyNotAsk(FormatStreamAsk(ask)), "command: has more than 256 elements");
  ask.command = {"x", std::string(kStreamCommandBytes - 1, 'x')};
  EXPECT_EQ(WhyNotAsk(FormatStreamAsk(ask)), "");
  ask.command.emplace_back("x");
  EXPECT_EQ(WhyNotAsk(FormatStreamAsk(ask)), "command: is longer than 32768 bytes");
}

TEST(StreamJson, ARefusalIsALineOfText) {
  EXPECT_EQ(FormatRefusal("no \"shell\""), R"({"reason":"no \"shell\""})");
  EXPECT_EQ(*ParseRefusal(FormatRefusal("item 7 ends")), "item 7 ends");
  // Whatever an engine has said.
  EXPECT_EQ(*ParseRefusal(FormatRefusal("a\nb\xff")), "a b\xef\xbf\xbd");
  EXPECT_EQ(*ParseRefusal(FormatRefusal("")), "no reason given");
  EXPECT_TRUE(ParseRefusal(FormatRefusal(std::string(100'000, 'x'))));
}

TEST(StreamJson, ARefusalThatIsNoneIsRefused) {
  EXPECT_EQ(WhyNotRefusal("{}"), "reason: is missing");
  EXPECT_EQ(WhyNotRefusal(R"({"reason":""})"), "reason: must not be empty");
  EXPECT_EQ(WhyNotRefusal(R"({"reason":"a\nb"})"), "reason: must not have control characters");
  EXPECT_EQ(WhyNotRefusal(R"({"reason":"a","x":1})").substr(0, 29),
            "the body: unknown field 'x'; ");
  const auto of = [](std::size_t bytes) {
    return R"({"reason":")" + std::string(bytes, 'x') + R"("})";
  };
  EXPECT_EQ(WhyNotRefusal(of(kRefusalBytes)), "");
  EXPECT_EQ(WhyNotRefusal(of(kRefusalBytes + 1)), "reason: is longer than 1000 bytes");
}

}  // namespace
}  // namespace tidemill
