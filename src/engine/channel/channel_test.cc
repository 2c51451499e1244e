// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/channel.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/channel/item_end.h"
#include "engine/channel/loop_testing.h"

namespace tidemill {
namespace {

using How = ItemEnd::How;
using Argv = Result<std::vector<std::string>>;

class RecordedRuns : public ChannelEvents {
 public:
  void OnHello() override { ++hellos; }
  void OnLog(std::uint64_t number, std::string_view bytes) override {
    story += "log " + std::to_string(number) + " " + std::string(bytes.substr(0, 100)) + "|";
    log_bytes += bytes.size();
  }
  void OnEnd(const ItemEnd& end) override {
    story += "end " + std::to_string(end.number) + "|";
    ends.push_back(end);
    if (on_end) on_end();
  }
  void OnBroken(const std::string& reason) override {
    EXPECT_EQ(broken, "");
    broken = reason;
  }
  int hellos = 0;
  std::string story;
  std::size_t log_bytes = 0;
  std::vector<ItemEnd> ends;
  std::string broken;
  std::function<void()> on_end;
};

// The test plays init.
class ChannelTest : public testing::Test {
 protected:
  ChannelTest() { Connect(); }
  void Connect() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    init_ = Fd(ends[1]);
    events_ = {};
    reader_ = std::make_unique<frame::Reader>(frame::Reader::Side::kInit);
    channel_.emplace(runner_.loop(), Fd(ends[0]), events_);
  }

  // Until the channel has read it all, or is broken and reads no more.
  void Say(const std::string& bytes) {
    std::size_t sent = 0;
    runner_.RunUntil([&] {
      if (sent < bytes.size() && events_.broken.empty()) {
        const ssize_t size = send(init_.get(), bytes.data() + sent, bytes.size() - sent,
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size > 0) sent += static_cast<std::size_t>(size);
      }
      return sent == bytes.size() || !events_.broken.empty();
    });
  }
  void Hello() {
    Say(frame::EncodeHello());
    runner_.RunUntil([&] { return events_.hellos == 1; });
  }
  static ItemRun RunOf(std::uint64_t number) {
    ItemRun run;
    run.number = number;
    run.grace = std::chrono::seconds(1);
    return run;
  }
  void Run(std::uint64_t number, const Argv& argv = std::vector<std::string>{"foo"}) {
    channel_->Run(RunOf(number), argv);
  }
  static std::string EndOf(std::uint64_t number, const frame::End& end = {}) {
    frame::End whole = end;
    if (whole.start_ms == 0 && !whole.skipped) whole.start_ms = 1;
    return frame::EncodeEnd(number, whole);
  }
  void RunUntilEnds(std::size_t count) {
    runner_.RunUntil([&] { return events_.ends.size() >= count || !events_.broken.empty(); });
    EXPECT_EQ(events_.broken, "");
    ASSERT_EQ(events_.ends.size(), count);
  }
  void RunUntilBroken() {
    runner_.RunUntil([&] { return !events_.broken.empty(); });
  }
  // The frames that have come to init, as "run 1" and "stop 1".
  std::string Heard() {
    std::string heard;
    std::vector<char> bytes(1 << 20);
    ssize_t size = 0;
    while ((size = recv(init_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
      reader_->Feed({bytes.data(), static_cast<std::size_t>(size)});
      while (const auto frame = reader_->Next()) {
        if (frame->kind == frame::Kind::kHeard) continue;
        heard += (frame->kind == frame::Kind::kRun ? "run " : "stop ") +
                 std::to_string(frame->number) + " ";
      }
    }
    return heard;
  }

  LoopRunner runner_;
  RecordedRuns events_;
  Fd init_;
  std::unique_ptr<frame::Reader> reader_;
  std::optional<Channel> channel_;
};

TEST(ItemEndOf, SaysHowItEnded) {
  struct Case {
    frame::End end;
    How how;
    int exit;
  };
  const Case cases[] = {
      {{.exit = 3}, How::kExited, 3},
      {{.signal = SIGKILL}, How::kSignalled, 137},
      {{.error = ENOENT}, How::kNotStarted, 127},
      {{.error = EACCES}, How::kNotStarted, 126},
      {{.error = ENOEXEC}, How::kNotStarted, 126},
      {{.error = ENOENT, .no_secrets = true}, How::kNotStarted, 126},
      {{.signal = SIGTERM, .timed_out = true}, How::kTimedOut, 143},
      {{.exit = 0, .timed_out = true}, How::kTimedOut, 0},
      {{.signal = SIGTERM, .stopped = true}, How::kStopped, 143},
      {{.skipped = true}, How::kStopped, 0},
  };
  for (const Case& each : cases) {
    const ItemEnd end = ItemEndOf(5, each.end);
    EXPECT_EQ(end.number, 5u);
    EXPECT_EQ(end.how, each.how);
    EXPECT_EQ(end.exit, each.exit);
  }
  const ItemEnd end =
      ItemEndOf(1, {.start_ms = 4, .duration_us = 3, .cpu_us = 2, .memory_bytes = 1});
  EXPECT_EQ(end.start_ms, 4);
  EXPECT_EQ(end.duration.count(), 3);
  EXPECT_EQ(end.cpu.count(), 2);
  EXPECT_EQ(end.memory_bytes, 1);
}

TEST_F(ChannelTest, PassesOnLogsAndEndsInOrder) {
  Hello();
  Run(1);
  Run(2);
  EXPECT_EQ(Heard(), "run 1 run 2 ");
  Say(frame::EncodeLog(1, "a") + frame::EncodeLog(1, "b") + EndOf(1, {.exit = 2}) +
      frame::EncodeLog(2, "c") + EndOf(2));
  RunUntilEnds(2);
  EXPECT_EQ(events_.story, "log 1 a|log 1 b|end 1|log 2 c|end 2|");
  EXPECT_EQ(events_.ends[0].exit, 2);
}

TEST_F(ChannelTest, SaysInTheLogWhyARunWasNotStarted) {
  Hello();
  Run(1);
  Say(EndOf(1, {.error = ENOENT}));
  RunUntilEnds(1);
  EXPECT_EQ(events_.story, "log 1 tidemill: cannot run 'foo': No such file or directory\n|end 1|");
}

TEST_F(ChannelTest, SaysThatSecretFilesCouldNotBeWrittenAndNotWhatIsInThem) {
  Hello();
  ItemRun run;
  run.number = 1;
  run.secret_files = {{"b", "canary"}, {"a", ""}};
  channel_->Run(run, std::vector<std::string>{"foo"});
  run.number = 2;
  run.secret_files = {{"a", ""}, {"a", "canary"}};
  channel_->Run(run, std::vector<std::string>{"foo"});
  EXPECT_EQ(Heard(), "run 1 ");
  Say(EndOf(1, {.error = ENOSPC, .no_secrets = true}));
  RunUntilEnds(2);
  EXPECT_TRUE(events_.story.starts_with(
      "log 1 tidemill: cannot write its secret files: No space left on device\n|end 1|log 2 "))
      << events_.story;
  EXPECT_EQ(events_.story.find("canary"), std::string::npos);
}

TEST_F(ChannelTest, EndsWhatCannotBeSentInItsTurn) {
  Hello();
  Run(1);
  Run(2, std::vector<std::string>{std::string("a\0b", 3)});
  Run(3, std::vector<std::string>{"foo", std::string(2 << 20, 'x')});
  Run(4, Fail(Code::kInvalid, "name a command"));
  Run(5);
  EXPECT_EQ(Heard(), "run 1 ");
  EXPECT_TRUE(events_.ends.empty());
  Say(EndOf(1));
  RunUntilEnds(4);
  runner_.RunUntil([&] { return !Heard().empty(); });
  Say(EndOf(5));
  RunUntilEnds(5);
  for (int i : {1, 2, 3}) EXPECT_EQ(events_.ends[i].how, How::kNotStarted);
  for (int i : {1, 2, 3}) EXPECT_EQ(events_.ends[i].exit, 126);
  EXPECT_EQ(events_.ends[4].number, 5u);
  EXPECT_NE(events_.story.find("log 4 tidemill: cannot run: name a command\n|end 4|"),
            std::string::npos);
}

TEST_F(ChannelTest, EndsOneThatCannotBeSentEvenIfItIsAlone) {
  Hello();
  Run(1, Fail(Code::kInvalid, "why"));
  EXPECT_TRUE(events_.ends.empty());
  RunUntilEnds(1);
}

TEST_F(ChannelTest, SendsOnlySoManyAhead) {
  Hello();
  std::string expected;
  for (std::uint64_t i = 1; i <= 40; ++i) Run(i);
  for (std::uint64_t i = 1; i <= Channel::kAhead; ++i) expected += "run " + std::to_string(i) + " ";
  EXPECT_EQ(Heard(), expected);
  Say(EndOf(1));
  RunUntilEnds(1);
  EXPECT_EQ(Heard(), "run 17 ");
  channel_->Stop(40);
  channel_->Stop(2);
  channel_->Stop(2);
  EXPECT_EQ(Heard(), "stop 2 ");
}

TEST_F(ChannelTest, StopsOneThatInitHasNotHeardOf) {
  Hello();
  for (std::uint64_t i = 1; i <= Channel::kAhead + 1; ++i) Run(i);
  channel_->Stop(Channel::kAhead + 1);
  std::string ends;
  for (std::uint64_t i = 1; i <= Channel::kAhead; ++i) ends += EndOf(i);
  Say(ends);
  RunUntilEnds(Channel::kAhead + 1);
  EXPECT_EQ(events_.ends.back().how, How::kStopped);
  EXPECT_EQ(events_.ends.back().start_ms, 0);
}

TEST_F(ChannelTest, HoldsBackWhatAnInitThatDoesNotReadWouldNotTake) {
  Hello();
  const std::vector<std::string> large{"foo", std::string(1'000'000, 'x')};
  for (std::uint64_t i = 1; i <= 15; ++i) Run(i, large);
  runner_.RunUntil([&] { return true; });
  Run(16);
  const std::string heard = Heard();
  EXPECT_EQ(heard.find("run 16"), std::string::npos);
}

// What it asserts: one end each time, although two were due (RunUntilEnds counts exactly), and the
// sanitizers find nothing.
TEST_F(ChannelTest, MayBeDestroyedInAnEnd) {
  Hello();
  Run(1);
  Run(2, Fail(Code::kInvalid, "why"));
  events_.on_end = [this] { channel_.reset(); };
  Say(EndOf(1) + EndOf(2));
  RunUntilEnds(1);
  Connect();
  Hello();
  events_.on_end = [this] { channel_.reset(); };
  Run(1, Fail(Code::kInvalid, "why"));
  Run(2, Fail(Code::kInvalid, "why"));
  RunUntilEnds(1);
}

TEST_F(ChannelTest, SaysThatInitIsGone) {
  Hello();
  Run(1);
  init_.Reset();
  RunUntilBroken();
  EXPECT_NE(events_.broken.find("init is gone"), std::string::npos);
  Run(2, Fail(Code::kInvalid, "why"));
  channel_->Stop(1);
}

// Bytes by hand: kind, length, number, payload.
std::string Raw(std::uint32_t kind, std::uint32_t length, std::uint64_t number,
                const std::string& payload = "") {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(kind >> (8 * i)));
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(length >> (8 * i)));
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
  return out + payload;
}

std::string BadEnd(std::size_t at, char byte) {
  std::string end = frame::EncodeEnd(1, {.start_ms = 1});
  end[frame::kHeaderBytes + at] = byte;
  return end;
}

// What a hostile init says after a Hello, or (`greets` is false) instead of one, while run 1 runs
// and run 2 waits.
struct EvilBytes {
  const char* name;
  std::string bytes;
  bool greets = true;
};

std::vector<EvilBytes> EvilInits() {
  const std::string hello = frame::EncodeHello();
  const std::string end = frame::EncodeEnd(1, {.start_ms = 1});
  const std::string log = frame::EncodeLog(1, "x");
  const std::string zeros(64, '\0');
  return {
      {"zeros", zeros, false},
      {"text", "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", false},
      {"a log first", log, false},
      {"an end first", end, false},
      {"version 0", Raw(16, 4, 0, std::string(4, '\0')), false},
      {"a later version", Raw(16, 4, 0, std::string("\4\0\0\0", 4)), false},
      {"the largest version", Raw(16, 4, 0, "\xff\xff\xff\xff"), false},
      {"a Hello with a number", Raw(16, 4, 1, std::string("\2\0\0\0", 4)), false},
      {"a short Hello", Raw(16, 3, 0, "\1\0"), false},
      {"an empty Hello", Raw(16, 0, 0), false},
      {"a long Hello", Raw(16, 257, 0, std::string(257, '\1')), false},
      {"a second Hello", hello},
      {"zeros after Hello", zeros},
      {"a Run", Raw(1, 25, 1, std::string(25, '\1'))},
      {"a Stop", Raw(2, 0, 1)},
      {"kind 0", Raw(0, 0, 1)},
      {"kind 3", Raw(3, 0, 1)},
      {"kind 19", Raw(19, 0, 1)},
      {"kind 255", Raw(255, 0, 1)},
      {"a byte that must be zero", Raw(17 | (1 << 8), 0, 1)},
      {"another byte that must be zero", Raw(17 | (1u << 31), 0, 1)},
      {"a log that is too long", Raw(17, frame::kPayloadToAgent + 1, 1)},
      {"a log of 4 GB", Raw(17, 0xffffffff, 1)},
      {"an end of 4 GB", Raw(18, 0xffffffff, 1)},
      {"a log of the next run", frame::EncodeLog(2, "x")},
      {"a log of no run", frame::EncodeLog(99, "x")},
      {"a log of run 0", frame::EncodeLog(0, "x")},
      {"a log of the largest number", frame::EncodeLog(~std::uint64_t{0}, "x")},
      {"a log of a run that has ended", end + log},
      {"the end of the next run", frame::EncodeEnd(2, {.start_ms = 1})},
      {"the end of no run", frame::EncodeEnd(3, {.start_ms = 1})},
      {"an end twice", end + end},
      {"an end too many", end + frame::EncodeEnd(2, {.start_ms = 1}) + end},
      {"secret files of a run that has none",
       frame::EncodeEnd(1, {.error = 28, .no_secrets = true})},
      {"an end that is too short", Raw(18, 47, 1, std::string(47, '\0'))},
      {"an end that is too long", Raw(18, 49, 1, std::string(49, '\0'))},
      {"an end that was stopped by nobody",
       frame::EncodeEnd(1, {.signal = SIGTERM, .stopped = true, .start_ms = 1})},
      {"an end that was skipped by nobody", frame::EncodeEnd(1, {.skipped = true})},
      {"a timeout that was not set",
       frame::EncodeEnd(1, {.signal = SIGTERM, .timed_out = true, .start_ms = 1})},
      {"a run longer than time",
       frame::EncodeEnd(1, {.start_ms = 1, .duration_us = 3'600'000'000})},
      {"an unknown flag", BadEnd(12, '\x40')},
      {"a negative start", BadEnd(23, '\xff')},
      {"a negative duration", BadEnd(31, '\xff')},
      {"a negative processor time", BadEnd(39, '\xff')},
      {"a negative memory", BadEnd(47, '\xff')},
      {"garbage after a log", log + "garbage garbage garbage"},
  };
}

TEST_F(ChannelTest, AHostileInitEndsItsContainerAndNothingElse) {
  const auto evils = EvilInits();
  EXPECT_GE(evils.size(), 40u);
  for (const EvilBytes& evil : evils) {
    SCOPED_TRACE(evil.name);
    Connect();
    if (evil.greets) Hello();
    Run(1);
    Run(2);
    const std::size_t before = events_.ends.size();
    Say(evil.bytes);
    RunUntilBroken();
    EXPECT_NE(events_.broken.find("init broke the rules"), std::string::npos);
    EXPECT_LE(events_.ends.size(), before + 2);
    EXPECT_LE(events_.log_bytes, 1u);
    // It hears no more of us.
    EXPECT_EQ(send(init_.get(), "x", 1, MSG_NOSIGNAL), -1);
  }
}

TEST_F(ChannelTest, EveryPrefixOfAnHonestStreamIsHonest) {
  const std::string whole =
      frame::EncodeHello() + frame::EncodeLog(1, "abc") + frame::EncodeEnd(1, {.start_ms = 1});
  for (std::size_t cut = 0; cut < whole.size(); cut += 3) {
    Connect();
    Run(1);
    Say(whole.substr(0, cut));
    runner_.RunUntil([&] { return true; });
    EXPECT_EQ(events_.broken, "");
    Say(whole.substr(cut));
    RunUntilEnds(1);
  }
}

// However much an item writes, the container is not taken for a hostile one.
TEST_F(ChannelTest, AFloodOfLogPassesThrough) {
  Hello();
  Run(1);
  const std::string frame = frame::EncodeLog(1, std::string(frame::kPayloadToAgent, 'l'));
  constexpr std::size_t kFrames = 200;
  for (std::size_t i = 0; i < kFrames; ++i) {
    Say(frame);
    events_.story.clear();
  }
  runner_.RunUntil([&] { return events_.log_bytes == kFrames * frame::kPayloadToAgent; });
  EXPECT_EQ(events_.broken, "");
}

}  // namespace
}  // namespace tidemill
