// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <termios.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <optional>

#include "frame/stream.h"

namespace tidemill::cli {

bool IsTerminal(int fd);
// Nothing: it is no terminal, or one that does not know.
std::optional<frame::TerminalSize> SizeOfTerminal(int fd);

// While it lives every key comes as its bytes, also Ctrl-C, and nothing is echoed. One at a time in
// a process. Signals that end the process give the terminal back first, also while something
// blocks; those that are ignored stay so.
class RawTerminal {
 public:
  explicit RawTerminal(int fd);
  ~RawTerminal() { Restore(); }

  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // False: it could not be changed, and errno says why.
  bool ok() const { return ok_; }
  void Restore();

 private:
  // SIGINT and SIGQUIT come from others only: their keys are bytes.
  static constexpr std::array kSignals = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE};

  struct sigaction old_actions_[kSignals.size()] = {};
  bool ok_ = false;
};

}  // namespace tidemill::cli
