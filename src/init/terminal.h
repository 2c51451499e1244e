// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame/stream.h"

namespace tidemill::init {

// A new terminal. Nobody has it as the one that controls them yet.
struct PtyEnds {
  int error = 0;    // errno: there is none; the rest is without meaning then
  int master = -1;  // does not block
  int slave = -1;
};
PtyEnds OpenPty(frame::TerminalSize size);

void ResizePty(int master, frame::TerminalSize size);

// What a person would type to end the input.
char EndOfInput(int master);

}  // namespace tidemill::init
