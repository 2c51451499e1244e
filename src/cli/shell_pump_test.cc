// SPDX-License-Identifier: Apache-2.0
#include "cli/shell_pump.h"

#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "cli/console.h"

namespace tidemill::cli {
namespace {

TEST(ShellKeys, PassesWhatIsTyped) {
  ShellKeys keys;
  EXPECT_EQ(keys.Pass("ls ~/x.y\r\x03\x04"), "ls ~/x.y\r\x03\x04");
  EXPECT_EQ(keys.Pass("a~.b"), "a~.b");
  EXPECT_FALSE(keys.left());
}

TEST(ShellKeys, LeavesAtTheBeginOfALine) {
  for (const char* const begin : {"", "ls\r", "ls\n", "\r\r"}) {
    ShellKeys keys;
    EXPECT_EQ(keys.Pass(begin), begin);
    EXPECT_EQ(keys.Pass("~"), "");
    EXPECT_FALSE(keys.left());
    EXPECT_EQ(keys.Pass(".rm -rf x\r"), "");
    EXPECT_TRUE(keys.left());
    EXPECT_EQ(keys.Pass("more\r"), "");
    EXPECT_EQ(keys.Rest(), "");
  }
}

TEST(ShellKeys, SendsATildeThatIsMeant) {
  ShellKeys keys;
  EXPECT_EQ(keys.Pass("~~."), "~.");
  EXPECT_EQ(keys.Pass("\r~/bin\r"), "\r~/bin\r");
  EXPECT_EQ(keys.Pass("~\r"), "~\r");
  // Behind that Enter a line begins again.
  EXPECT_EQ(keys.Pass("~"), "");
  EXPECT_EQ(keys.Rest(), "~");
  EXPECT_EQ(keys.Rest(), "");
  EXPECT_FALSE(keys.left());
}

// What the pump has written, and the frames it made.
class ShellPumpTest : public testing::Test {
 protected:
  ShellPump Make(bool has_keys) {
    const auto to = [this](std::string& text) {
      return [this, &text](std::string_view bytes) {
        text += bytes;
        return wrong_;
      };
    };
    return {has_keys, to(out_), to(errors_)};
  }

  struct Given {
    frame::Kind kind;
    std::uint64_t number;
    std::string bytes;
  };
  // As the agent reads them.
  static std::vector<Given> Read(std::string_view frames) {
    frame::Reader reader(frame::Reader::Side::kCarrier);
    reader.Feed(frames);
    std::vector<Given> all;
    while (const auto next = reader.Next()) {
      all.push_back({next->kind, next->number, std::string(next->payload)});
    }
    EXPECT_FALSE(reader.broken());
    return all;
  }

  std::string out_;
  std::string errors_;
  std::optional<std::string> wrong_;
};

TEST_F(ShellPumpTest, GivesWhatIsReadInPieces) {
  ShellPump pump = Make(false);
  const std::string long_text(2 * frame::kStreamBytes + 1, 'x');
  const auto given = Read(pump.Type(long_text));
  ASSERT_EQ(given.size(), 3u);
  std::string all;
  for (const Given& one : given) {
    EXPECT_EQ(one.kind, frame::Kind::kGive);
    EXPECT_EQ(one.number, 0u);
    all += one.bytes;
  }
  EXPECT_EQ(all, long_text);
  EXPECT_EQ(pump.Type(""), "");
  const auto last = Read(pump.EndInput());
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].bytes, "");
}

TEST_F(ShellPumpTest, LooksForLeavingInWhatKeysSayOnly) {
  ShellPump file = Make(false);
  const auto given = Read(file.Type("~.\n"));
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].bytes, "~.\n");
  EXPECT_FALSE(file.end());

  ShellPump keys = Make(true);
  EXPECT_EQ(keys.Type("~"), "");  // and no empty Give, which would be the end
  const auto before = Read(ShellPump(Make(true)).Type("x\r~."));
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].bytes, "x\r");
  EXPECT_EQ(keys.Type("."), "");
  ASSERT_TRUE(keys.end());
  EXPECT_EQ(keys.end()->kind, ShellEnd::Kind::kLeft);
  EXPECT_EQ(keys.Type("more"), "");
  EXPECT_EQ(keys.EndInput(), "");
}

TEST_F(ShellPumpTest, GivesATildeThatWaitedBeforeTheEnd) {
  ShellPump pump = Make(true);
  EXPECT_EQ(pump.Type("~"), "");
  const auto given = Read(pump.EndInput());
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].bytes, "~");
  EXPECT_EQ(given[1].bytes, "");
}

TEST_F(ShellPumpTest, WritesWhatComesHoweverItIsCut) {
  const std::string frames = frame::EncodeOutput(0, "one ") + frame::EncodeErrors(0, "bad") +
                             frame::EncodeOutput(0, "two") + frame::EncodeOver(0, {.exit = 3}) +
                             frame::EncodeOutput(0, "late");
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, frames.size()}) {
    out_.clear();
    errors_.clear();
    ShellPump pump = Make(true);
    for (std::size_t at = 0; at < frames.size(); at += size) pump.Take(frames.substr(at, size));
    pump.Lose("closed");
    EXPECT_EQ(out_, "one two");
    EXPECT_EQ(errors_, "bad");
    ASSERT_TRUE(pump.end());
    EXPECT_EQ(pump.end()->kind, ShellEnd::Kind::kOver);
    EXPECT_EQ(pump.end()->over, frame::Over{.exit = 3});
  }
}

TEST_F(ShellPumpTest, IsLostWithItsConnection) {
  ShellPump pump = Make(true);
  pump.Take(frame::EncodeOutput(0, "so far"));
  pump.Lose("reset by peer");
  ASSERT_TRUE(pump.end());
  EXPECT_EQ(pump.end()->kind, ShellEnd::Kind::kLost);
  EXPECT_EQ(pump.end()->reason, "reset by peer");
}

TEST_F(ShellPumpTest, TakesNothingThatIsNotForAPerson) {
  for (const std::string& bytes :
       {std::string(64, 'x'), frame::EncodeGive(0, "x"), frame::EncodeFull(0, true)}) {
    ShellPump pump = Make(true);
    pump.Take(bytes);
    ASSERT_TRUE(pump.end());
    EXPECT_EQ(pump.end()->kind, ShellEnd::Kind::kLost);
    EXPECT_EQ(out_ + errors_, "");
  }
}

TEST_F(ShellPumpTest, EndsWhenNobodyTakesWhatItWrites) {
  ShellPump pump = Make(false);
  wrong_ = "cannot write to standard output: Broken pipe";
  pump.Take(frame::EncodeOutput(0, "one") + frame::EncodeOutput(0, "two"));
  EXPECT_EQ(out_, "one");
  ASSERT_TRUE(pump.end());
  EXPECT_EQ(pump.end()->kind, ShellEnd::Kind::kNoOutput);
  EXPECT_EQ(pump.end()->reason, *wrong_);
}

TEST(FarewellOf, HasTheExitCodeOfTheProgram) {
  const auto of = [](const ShellEnd& end) { return FarewellOf(end, "render-7", 3, "/bin/x"); };
  EXPECT_EQ(of({.over = {.exit = 42}}).exit, 42);
  EXPECT_EQ(of({.over = {.exit = 42}}).line, "");

  const auto missing = of({.over = {.error = ENOENT}});
  EXPECT_EQ(missing.exit, 127);
  EXPECT_EQ(missing.line, "cannot start '/bin/x' in the container: No such file or directory");
  EXPECT_EQ(of({.over = {.error = EACCES}}).exit, 126);

  const auto with_item = of({.over = {.exit = 137, .with_item = true}});
  EXPECT_EQ(with_item.exit, 137);
  EXPECT_NE(with_item.line.find("the item has ended"), std::string::npos);

  const auto lost = of({.kind = ShellEnd::Kind::kLost, .reason = "reset\x1b[2J"});
  EXPECT_EQ(lost.exit, kNoServer);
  EXPECT_EQ(lost.line.find('\x1b'), std::string::npos);
  EXPECT_NE(lost.next.find("tidemill shell render-7 --item 3"), std::string::npos);

  EXPECT_EQ(of({.kind = ShellEnd::Kind::kLeft}).exit, kInterrupted);
  const auto no_output = of({.kind = ShellEnd::Kind::kNoOutput, .reason = "no space"});
  EXPECT_EQ(no_output.exit, kFailed);
  EXPECT_EQ(no_output.line, "no space");
}

}  // namespace
}  // namespace tidemill::cli
