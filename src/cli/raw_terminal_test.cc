// SPDX-License-Identifier: Apache-2.0
#include "cli/raw_terminal.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "cli/pty_fixture.h"

namespace tidemill::cli {
namespace {

bool AreSame(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag &&
         a.c_lflag == b.c_lflag && std::memcmp(a.c_cc, b.c_cc, sizeof a.c_cc) == 0;
}

TEST(RawTerminal, IsRawWhileItLives) {
  const PtyFixture pty;
  ASSERT_TRUE(IsTerminal(pty.terminal.get()));
  const termios before = pty.Modes();
  ASSERT_FALSE(pty.is_raw());
  {
    const RawTerminal raw(pty.terminal.get());
    ASSERT_TRUE(raw.ok());
    EXPECT_TRUE(pty.is_raw());
    // Ctrl-C is a byte, without an Enter behind it.
    ASSERT_EQ(::write(pty.person.get(), "\x03", 1), 1);
    char key = 0;
    EXPECT_EQ(::read(pty.terminal.get(), &key, 1), 1);
    EXPECT_EQ(key, '\x03');
  }
  EXPECT_TRUE(AreSame(before, pty.Modes()));
  // And once more.
  EXPECT_TRUE(RawTerminal(pty.terminal.get()).ok());
  EXPECT_TRUE(AreSame(before, pty.Modes()));
}

TEST(RawTerminal, GivesItBackEarlyAndOnce) {
  const PtyFixture pty;
  const termios before = pty.Modes();
  RawTerminal raw(pty.terminal.get());
  raw.Restore();
  EXPECT_TRUE(AreSame(before, pty.Modes()));
  termios other = before;
  other.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(pty.terminal.get(), TCSANOW, &other);
  raw.Restore();
  EXPECT_TRUE(AreSame(other, pty.Modes()));
}

TEST(RawTerminal, IsNotMadeOfAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd from(ends[0]);
  const Fd to(ends[1]);
  EXPECT_FALSE(IsTerminal(from.get()));
  EXPECT_FALSE(RawTerminal(from.get()).ok());
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_FALSE(SizeOfTerminal(from.get()));
}

class RawTerminalSignal : public testing::TestWithParam<int> {};

// A process that is killed while it waits in a call that blocks.
TEST_P(RawTerminalSignal, GivesItBackAndThenKills) {
  const PtyFixture pty;
  const termios before = pty.Modes();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const RawTerminal raw(pty.terminal.get());
    if (!raw.ok() || ::write(to.get(), "r", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  to.Reset();
  char ready = 0;
  ASSERT_EQ(::read(from.get(), &ready, 1), 1);
  EXPECT_TRUE(pty.is_raw());
  ::kill(child, GetParam());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam()) << status;
  EXPECT_TRUE(AreSame(before, pty.Modes()));
}
INSTANTIATE_TEST_SUITE_P(All, RawTerminalSignal,
                         testing::Values(SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE));

TEST(RawTerminal, LeavesSignalsAsTheyWere) {
  const PtyFixture pty;
  const auto handler_of = [](int number) {
    struct sigaction action{};
    ::sigaction(number, nullptr, &action);
    return action.sa_handler;
  };
  const auto old_hangup = ::signal(SIGHUP, SIG_IGN);  // as nohup does
  const auto old_term = handler_of(SIGTERM);
  {
    const RawTerminal raw(pty.terminal.get());
    EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
    EXPECT_NE(handler_of(SIGTERM), old_term);
  }
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  EXPECT_EQ(handler_of(SIGTERM), old_term);
  ::signal(SIGHUP, old_hangup);
}

TEST(SizeOfTerminal, IsThatOfTheTerminal) {
  const PtyFixture pty;
  EXPECT_FALSE(SizeOfTerminal(pty.terminal.get()));  // nobody has told it
  pty.Resize(50, 132);
  EXPECT_EQ(SizeOfTerminal(pty.terminal.get()), (frame::TerminalSize{.rows = 50, .columns = 132}));
}

}  // namespace
}  // namespace tidemill::cli
