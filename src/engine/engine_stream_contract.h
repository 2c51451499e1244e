// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine promises of streams, if its items are real. Where it runs them there is a busybox.
// Only one .cc file of a test program may include it.

#include <cerrno>
#include <string>
#include <vector>

#include "engine/engine_real_testing.h"

namespace tidemill {

class StreamEngineTest : public RealEngineTest {
 protected:
  // A container with an item that has begun.
  void OpenBeside(const std::string& script = "sleep 1000; true") {
    Open();
    container_->Run(Shell(1, "echo up; " + script));
    holder().RunUntil([&] { return LogOf(1).starts_with("up\n"); });
  }
  static StreamStart Program(std::uint64_t number, const std::string& script,
                             bool terminal = false) {
    return {.number = number, .command = {"/bin/sh", "-c", script}, .terminal = terminal};
  }
  void RunUntilOutputHas(std::uint64_t number, const std::string& part) {
    holder().RunUntil([&] {
      return events_.output[number].find(part) != std::string::npos ||
             events_.stream_ends.count(number) > 0;
    });
    EXPECT_NE(events_.output[number].find(part), std::string::npos) << events_.output[number];
  }
};

TEST_P(StreamEngineTest, TellsOutputFromErrorsAndHasTheEnvironmentThatItIsGiven) {
  OpenBeside("echo x > $TIDEMILL_SCRATCH/file; echo made; sleep 1000; true");
  holder().RunUntil([&] { return LogOf(1) == "up\nmade\n"; });
  StreamStart start = Program(5, "echo $A; ls $TIDEMILL_SCRATCH; echo bad >&2; kill -9 $$");
  start.env = {"A=a b"};
  container_->OpenStream(start);
  EXPECT_EQ(EndOfStream(5), (StreamEnd{.exit = 137}));
  EXPECT_EQ(events_.output[5], "a b\nfile\n");
  EXPECT_EQ(events_.errors[5], "bad\n");
  EXPECT_EQ(LogOf(1), "up\nmade\n");
}

TEST_P(StreamEngineTest, SaysWhatCannotBeStarted) {
  OpenBeside();
  container_->OpenStream({.number = 5, .command = {"no-such-program"}});
  EXPECT_EQ(EndOfStream(5), (StreamEnd{.error = ENOENT}));
  container_->OpenStream({.number = 6, .command = {"/etc/passwd"}});
  EXPECT_EQ(EndOfStream(6), (StreamEnd{.error = EACCES}));
  container_->OpenStream({.number = 7, .command = {"/bin/sh", std::string(2'000'000, 'x')}});
  EXPECT_EQ(EndOfStream(7), (StreamEnd{.error = E2BIG}));
  container_->OpenStream({.number = 8, .command = {std::string("a\0b", 3)}});
  EXPECT_EQ(EndOfStream(8), (StreamEnd{.error = EINVAL}));
  container_->OpenStream({.number = 9, .port = 1});
  EXPECT_EQ(EndOfStream(9), (StreamEnd{.error = ECONNREFUSED}));
  container_->OpenStream(Program(10, "echo still"));
  EXPECT_EQ(EndOfStream(10), StreamEnd{});
  EXPECT_EQ(events_.output[10], "still\n");
}

TEST_P(StreamEngineTest, HasATerminalOfTheSizeThatItIsGiven) {
  OpenBeside();
  StreamStart start = Program(5, "busybox stty size; read line; busybox stty size; tty", true);
  start.rows = 33;
  start.columns = 111;
  container_->OpenStream(start);
  RunUntilOutputHas(5, "33 111\r\n");
  container_->ResizeStream(5, 44, 222);
  container_->SendToStream(5, "\n");
  EXPECT_EQ(EndOfStream(5), StreamEnd{});
  EXPECT_NE(events_.output[5].find("44 222\r\n"), std::string::npos) << events_.output[5];
  EXPECT_NE(events_.output[5].find("/dev/"), std::string::npos) << events_.output[5];
}

// As of a person at a prompt. The shell itself is interrupted, and waits for no child for long:
// what a shell forks loses a signal that comes before it has become its program.
TEST_P(StreamEngineTest, InterruptsTheProgramOfATerminalAndNotTheItem) {
  OpenBeside();
  const std::string trap = "trap 'echo; echo caught; exit 3' INT; ";
  container_->OpenStream(Program(5, trap + "echo on; while :; do sleep 0.1; done", true));
  RunUntilOutputHas(5, "on\r\n");
  container_->SendToStream(5, "\x03");
  EXPECT_EQ(EndOfStream(5), (StreamEnd{.exit = 3}));
  EXPECT_NE(events_.output[5].find("caught"), std::string::npos);
  EXPECT_TRUE(events_.ends.empty());
}

TEST_P(StreamEngineTest, ReachesAPortOfTheLoopback) {
  const std::string port = std::to_string(20'000 + getpid() % 20'000);
  OpenBeside("busybox nc -l -p " + port + " -e cat; echo served; sleep 1000; true");
  // Until it listens.
  std::uint64_t number = 4;
  holder().RunUntil([&] {
    if (number == 4 || events_.stream_ends.count(number) > 0) {
      container_->OpenStream({.number = ++number, .port = static_cast<std::uint16_t>(stoi(port))});
      container_->SendToStream(number, "hello");
    }
    return events_.output[number] == "hello";
  });
  container_->SendToStream(number, " again");
  RunUntilOutput(number, "hello again");
  container_->SendToStream(number, "");
  EXPECT_EQ(EndOfStream(number), StreamEnd{});
  holder().RunUntil([&] { return LogOf(1).find("served") != std::string::npos; });
}

TEST_P(StreamEngineTest, LosesNothingOfWhatIsHeldAndWritesNoMoreMeanwhile) {
  OpenBeside();
  constexpr std::size_t kBytes = 40'000'000;
  container_->OpenStream(
      Program(5, "head -c " + std::to_string(kBytes) + " /dev/zero; touch $TIDEMILL_SCRATCH/done"));
  container_->HoldStream(5, true);
  // It has not come to its end, however long one waits; another stream says so.
  container_->OpenStream(Program(6, "sleep 1; ls $TIDEMILL_SCRATCH"));
  EXPECT_EQ(EndOfStream(6), StreamEnd{});
  EXPECT_EQ(events_.output[6], "");
  EXPECT_LT(events_.output[5].size(), 4'000'000U);
  container_->HoldStream(5, false);
  EXPECT_EQ(EndOfStream(5), StreamEnd{});
  EXPECT_EQ(events_.output[5].size(), kBytes);
}

TEST_P(StreamEngineTest, SaysThatItIsFullAndTakesAllInTheEnd) {
  OpenBeside();
  container_->OpenStream(
      Program(5, "until [ -e $TIDEMILL_SCRATCH/go ]; do sleep 0.05; done; busybox wc -c"));
  std::size_t sent = 0;
  const std::string piece(100'000, 'x');
  const auto send_some = [&] {
    if (events_.full[5]) return;
    container_->SendToStream(5, piece);
    sent += piece.size();
  };
  holder().RunUntil([&] {
    send_some();
    return events_.full[5] || sent > 100'000'000;
  });
  EXPECT_TRUE(events_.full[5]);
  container_->OpenStream(Program(6, "touch $TIDEMILL_SCRATCH/go"));
  holder().RunUntil([&] { return !events_.full[5]; });
  send_some();
  container_->SendToStream(5, "");
  EXPECT_EQ(EndOfStream(5), StreamEnd{});
  EXPECT_EQ(events_.output[5], std::to_string(sent) + "\n");
}

TEST_P(StreamEngineTest, LeavesNothingOfWhatIsClosedOrEndsWithItsItem) {
  OpenBeside();
  const std::string deaf = "trap '' TERM HUP; echo on; while :; do sleep 0.05; done";
  for (const std::uint64_t number : {5, 6}) {
    StreamStart start = Program(number, deaf, number == 6);
    start.command.push_back(mark_ + "-stream");
    container_->OpenStream(start);
    RunUntilOutputHas(number, "on");
  }
  container_->CloseStream(5);
  EndOfStream(5);
  container_->Stop(1);
  EXPECT_TRUE(EndOfStream(6).with_item);
  RunUntilEnds(1);
  RunUntilNoneIsMarked();
  // And the container is as good as before.
  container_->Run(Shell(2, "echo next"));
  RunUntilEnds(2);
  EXPECT_EQ(LogOf(2), "next\n");
}

TEST_P(StreamEngineTest, RunsAsManyAtATimeAsThereMayBe) {
  OpenBeside();
  constexpr std::uint64_t kMost = 32;
  for (std::uint64_t i = 1; i <= kMost + 1; ++i) OpenEcho(i, 1);
  EXPECT_EQ(EndOfStream(kMost + 1), (StreamEnd{.error = EAGAIN}));
  for (std::uint64_t i = 1; i <= kMost; ++i) container_->SendToStream(i, std::to_string(i));
  for (std::uint64_t i = 1; i <= kMost; ++i) RunUntilOutput(i, std::to_string(i));
  container_->CloseStream(1);
  EndOfStream(1);
  OpenEcho(50, 9);
  container_->SendToStream(50, "");
  EXPECT_EQ(EndOfStream(50), (StreamEnd{.exit = 9}));
}

TEST_P(StreamEngineTest, EndsWithItsContainer) {
  OpenBeside();
  StreamStart start = Program(5, "echo on; sleep 1000; true");
  start.command.push_back(mark_);
  container_->OpenStream(start);
  RunUntilOutputHas(5, "on\n");
  container_.reset();
  RunUntilNothingIsLeft();
  RunUntilNoneIsMarked();
}

}  // namespace tidemill
