// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/fd.h"

namespace tidemill::cli {

// A terminal whose person is a test. For tests.
struct PtyFixture {
  PtyFixture() {
    ::grantpt(person.get());
    ::unlockpt(person.get());
    terminal.Reset(::open(::ptsname(person.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  }

  termios Modes() const {
    termios modes{};
    ::tcgetattr(terminal.get(), &modes);
    return modes;
  }
  bool is_raw() const { return (Modes().c_lflag & (ICANON | ECHO | ISIG)) == 0; }
  void Resize(unsigned short rows, unsigned short columns) const {
    const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(person.get(), TIOCSWINSZ, &size);
  }

  Fd person{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  Fd terminal;
};

}  // namespace tidemill::cli
