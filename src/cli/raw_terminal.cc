// SPDX-License-Identifier: Apache-2.0
#include "cli/raw_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/check.h"

namespace tidemill::cli {
namespace {

// A signal's handler has nothing else to look at. Not changed while a handler may run.
volatile std::sig_atomic_t raw_fd = -1;
termios before_raw{};

// Its disposition is the default one by now, and it comes again on return.
void GiveBackAndDie(int number) {
  ::tcsetattr(raw_fd, TCSANOW, &before_raw);
  ::raise(number);
}

}  // namespace

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

std::optional<frame::TerminalSize> SizeOfTerminal(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return std::nullopt;
  }
  return frame::TerminalSize{.rows = size.ws_row, .columns = size.ws_col};
}

RawTerminal::RawTerminal(int fd) {
  TIDEMILL_CHECK(raw_fd == -1);
  if (::tcgetattr(fd, &before_raw) != 0) return;
  raw_fd = fd;
  struct sigaction action{};
  action.sa_handler = GiveBackAndDie;
  action.sa_flags = SA_RESETHAND;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &old_actions_[i]);
    if (old_actions_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
  ok_ = true;
  termios raw = before_raw;
  ::cfmakeraw(&raw);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(fd, TCSANOW, &raw) != 0) Restore();
}

void RawTerminal::Restore() {
  if (!ok_) return;
  ok_ = false;
  ::tcsetattr(raw_fd, TCSANOW, &before_raw);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &old_actions_[i], nullptr);
  }
  raw_fd = -1;
}

}  // namespace tidemill::cli
