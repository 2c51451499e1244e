// SPDX-License-Identifier: Apache-2.0
#include "init/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace tidemill::init {
namespace {

constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
constexpr char kControlD = 4;

int OpenMaster() {
  // The first is a link to the second where whoever made the container wanted that.
  for (const char* path : {"/dev/ptmx", "/dev/pts/ptmx"}) {
    const int fd = open(path, kFlags | O_NONBLOCK);
    if (fd >= 0) return fd;
  }
  return -1;
}

int OpenSlave(int master) {
  const int locked = 0;
  unsigned number = 0;
  if (ioctl(master, TIOCSPTLCK, &locked) != 0 || ioctl(master, TIOCGPTN, &number) != 0) return -1;
  // Works whatever is mounted where, but not in kernels before 4.13.
  const int peer = ioctl(master, TIOCGPTPEER, kFlags);
  if (peer >= 0) return peer;
  char path[32];
  snprintf(path, sizeof(path), "/dev/pts/%u", number);
  return open(path, kFlags);
}

// To erase a letter is to erase all bytes of it.
void TakeUtf8(int slave) {
  termios modes{};
  if (tcgetattr(slave, &modes) != 0) return;
  modes.c_iflag |= IUTF8;
  tcsetattr(slave, TCSANOW, &modes);
}

}  // namespace

PtyEnds OpenPty(frame::TerminalSize size) {
  const int master = OpenMaster();
  // Not as if it were the program that is missing.
  if (master < 0) return {.error = errno == ENOENT ? ENODEV : errno};
  const int slave = OpenSlave(master);
  if (slave < 0) {
    const int error = errno == ENOENT ? ENODEV : errno;
    close(master);
    return {.error = error};
  }
  ResizePty(master, size);
  TakeUtf8(slave);
  return {.master = master, .slave = slave};
}

void ResizePty(int master, frame::TerminalSize size) {
  winsize window{};
  window.ws_row = size.rows;
  window.ws_col = size.columns;
  ioctl(master, TIOCSWINSZ, &window);
}

char EndOfInput(int master) {
  termios modes{};
  if (tcgetattr(master, &modes) != 0) return kControlD;
  return static_cast<char>(modes.c_cc[VEOF]);
}

}  // namespace tidemill::init
