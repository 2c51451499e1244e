// SPDX-License-Identifier: Apache-2.0
#include "cli/shell_session.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "base/byte_stream_testing.h"
#include "base/fd.h"
#include "cli/pty_fixture.h"
#include "cli/shell.h"

namespace tidemill::cli {
namespace {

struct PipeEnds {
  PipeEnds() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    from.Reset(ends[0]);
    to.Reset(ends[1]);
  }
  Fd from;
  Fd to;
};

class ShellSessionTest : public testing::Test {
 protected:
  ShellSessionTest() {
    loop_.After(std::chrono::seconds(60), [] {
      ADD_FAILURE() << "the test hangs";
      std::abort();
    });
  }

  ShellSeat Seat() const {
    return {.in = in_.from.get(), .out = out_.to.get(), .errors = errors_.to.get()};
  }
  ShellEnd Run(const ShellSeat& seat) {
    return ShellSession(loop_, std::make_unique<PlayedByteStream>(play_), seat).Run();
  }
  // Goes on once `is_so`; the session's stream has been started by then.
  void When(std::function<bool()> is_so, std::function<void()> go_on) {
    loop_.After(std::chrono::milliseconds(1), [this, is_so, go_on] {
      if (play_->started && is_so()) return go_on();
      When(is_so, go_on);
    });
  }
  void SayOver(int exit) { play_->Say(frame::EncodeOver(0, {.exit = exit})); }
  static std::string ReadSome(const Fd& fd) {
    std::string text(100'000, '\0');
    const ssize_t got = ::read(fd.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  static void Write(const Fd& fd, std::string_view text) {
    EXPECT_EQ(::write(fd.get(), text.data(), text.size()), std::ssize(text));
  }

  AsioLoop loop_;
  const std::shared_ptr<PlayedStream> play_ = std::make_shared<PlayedStream>();
  PipeEnds in_;
  PipeEnds out_;
  PipeEnds errors_;
};

TEST_F(ShellSessionTest, CarriesBothWaysToTheEnd) {
  Write(in_.to, "input");
  in_.to.Reset();
  const std::string wanted = frame::EncodeGive(0, "input") + frame::EncodeGive(0, "");
  When([&] { return play_->sent == wanted; },
       [&] {
         play_->Say(frame::EncodeOutput(0, "output") + frame::EncodeErrors(0, "errors"));
         SayOver(7);
       });
  const ShellEnd end = Run(Seat());
  EXPECT_EQ(end.kind, ShellEnd::Kind::kOver);
  EXPECT_EQ(end.over.exit, 7);
  EXPECT_TRUE(play_->closed);
  EXPECT_EQ(ReadSome(out_.from), "output");
  EXPECT_EQ(ReadSome(errors_.from), "errors");
}

TEST_F(ShellSessionTest, TakesAClosedInputForAnEmptyOne) {
  ShellSeat seat = Seat();
  seat.in = -1;
  When([&] { return play_->sent == frame::EncodeGive(0, ""); }, [&] { SayOver(0); });
  EXPECT_EQ(Run(seat).kind, ShellEnd::Kind::kOver);
}

TEST_F(ShellSessionTest, ReadsAFileAndNothing) {
  for (const char* const path : {"/dev/null", "/proc/self/comm"}) {
    play_->sent.clear();
    const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
    ShellSeat seat = Seat();
    seat.in = file.get();
    When([&] { return play_->sent.ends_with(frame::EncodeGive(0, "")); }, [&] { SayOver(0); });
    EXPECT_EQ(Run(seat).kind, ShellEnd::Kind::kOver);
  }
  EXPECT_GT(play_->sent.size(), 2 * frame::kHeaderBytes);
}

TEST_F(ShellSessionTest, EndsWithItsConnection) {
  When([] { return true; }, [&] { play_->End("reset by peer"); });
  const ShellEnd end = Run(Seat());
  EXPECT_EQ(end.kind, ShellEnd::Kind::kLost);
  EXPECT_EQ(end.reason, "reset by peer");
}

TEST_F(ShellSessionTest, ReadsNoFurtherThanTheOtherSideTakes) {
  std::size_t written = 0;
  const std::string piece(4096, 'x');
  ::fcntl(in_.to.get(), F_SETFL, O_NONBLOCK);
  const auto fill = [&] {
    while (::write(in_.to.get(), piece.data(), piece.size()) == std::ssize(piece)) {
      written += piece.size();
    }
  };
  // It stands still once the pipe stays full.
  std::size_t quiet = 0;
  std::size_t last = 0;
  const auto stands_still = [&] {
    fill();
    quiet = written == last ? quiet + 1 : 0;
    last = written;
    return quiet > 50;
  };
  When(stands_still, [&] {
    EXPECT_GT(play_->unsent, ShellSession::kUnsentMost);
    EXPECT_LT(play_->unsent, ShellSession::kUnsentMost + 256 * 1024);
    const std::size_t before = play_->sent.size();
    play_->TakeAll();
    When([this, before] { return play_->sent.size() > before; }, [&] { SayOver(0); });
  });
  EXPECT_EQ(Run(Seat()).kind, ShellEnd::Kind::kOver);
}

TEST_F(ShellSessionTest, LeavesByKeys) {
  Write(in_.to, "ls\r~.");
  ShellSeat seat = Seat();
  seat.has_keys = true;
  EXPECT_EQ(Run(seat).kind, ShellEnd::Kind::kLeft);
  EXPECT_EQ(play_->sent, frame::EncodeGive(0, "ls\r"));
  EXPECT_TRUE(play_->closed);
}

TEST_F(ShellSessionTest, TellsTheSizeOfItsTerminal) {
  const PtyFixture pty;
  pty.Resize(30, 90);
  ShellSeat seat = Seat();
  seat.out = pty.terminal.get();
  seat.size = frame::TerminalSize{.rows = 30, .columns = 90};
  const std::string wanted = frame::EncodeResize(0, {.rows = 40, .columns = 120});
  When([] { return true; },
       [&] {
         EXPECT_EQ(play_->sent, "");  // it was told already
         // What is unsent lets it wait.
         play_->unsent = ShellSession::kUnsentMost + 1;
         pty.Resize(35, 100);
         ::raise(SIGWINCH);
         loop_.After(std::chrono::milliseconds(10), [&] {
           EXPECT_EQ(play_->sent, "");
           pty.Resize(40, 120);
           play_->TakeAll();
         });
         When([&] { return play_->sent == wanted; },
              [&] {
                pty.Resize(41, 120);
                ::raise(SIGWINCH);
                When([&] { return play_->sent.size() > wanted.size(); }, [&] { SayOver(0); });
              });
       });
  EXPECT_EQ(Run(seat).kind, ShellEnd::Kind::kOver);
  EXPECT_EQ(play_->sent, wanted + frame::EncodeResize(0, {.rows = 41, .columns = 120}));
  // The loop goes on, and nobody is told.
  ::raise(SIGWINCH);
  loop_.After(std::chrono::milliseconds(10), [this] { loop_.Stop(); });
  loop_.Run();
}

TEST_F(ShellSessionTest, EndsIfItsOutputIsGone) {
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  out_.from.Reset();
  When([] { return true; }, [&] { play_->Say(frame::EncodeOutput(0, "x")); });
  const ShellEnd end = Run(Seat());
  ::signal(SIGPIPE, old);
  EXPECT_EQ(end.kind, ShellEnd::Kind::kNoOutput);
  EXPECT_EQ(end.reason, "cannot write to standard output: Broken pipe");
}

TEST_F(ShellSessionTest, WaitsForAnOutputThatDoesNotBlock) {
  ::fcntl(out_.to.get(), F_SETFL, O_NONBLOCK);
  const std::string text(1 << 20, 'x');
  std::string frames;
  for (std::size_t at = 0; at < text.size(); at += frame::kStreamBytes) {
    frames += frame::EncodeOutput(0, std::string_view(text).substr(at, frame::kStreamBytes));
  }
  std::size_t got = 0;
  std::thread reader([&] {
    pollfd readable{.fd = out_.from.get(), .events = POLLIN, .revents = 0};
    while (got < text.size() && ::poll(&readable, 1, 60'000) == 1) {
      got += ReadSome(out_.from).size();
    }
  });
  When([] { return true; },
       [&] {
         play_->Say(frames);
         SayOver(0);
       });
  EXPECT_EQ(Run(Seat()).kind, ShellEnd::Kind::kOver);
  reader.join();
  EXPECT_EQ(got, text.size());
}

TEST(IsTermName, IsAWordWithoutSigns) {
  EXPECT_TRUE(IsTermName("xterm-256color"));
  EXPECT_TRUE(IsTermName("screen.linux+x_y"));
  EXPECT_FALSE(IsTermName(""));
  EXPECT_FALSE(IsTermName("x y"));
  EXPECT_FALSE(IsTermName("../x"));
  EXPECT_FALSE(IsTermName(std::string(65, 'x')));
}

}  // namespace
}  // namespace tidemill::cli
