// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "frame/frame.h"

namespace tidemill::init {

// The main process of an item or a stream. It leads a session and a process group of its own.
struct Started {
  // If there is no process one of these is an errno, and the rest is without meaning.
  int error = 0;          // the program cannot be run
  int machine_error = 0;  // nothing could be run now
  pid_t pid = 0;
  int output = -1;  // what it writes to stdout and stderr; does not block
};

// What a process gets as its stdin, stdout and stderr.
struct Stdio {
  int in = -1;  // -1: init's own
  int out = -1;
  int err = -1;
  bool terminal = false;  // they are one, which from then on controls the process
};

// Starts a program, found as execvpe finds it, but in the PATH of the run and without a shell for a
// file of no kind that the kernel knows. It has no descriptors but these three, and init's actions
// for signals, with none blocked. With a role, it inherits no variables of other keys. There is no
// output in what is returned.
Started StartOn(const Stdio& stdio, const frame::Run& run, bool has_role);

// The same for an item: with init's stdin, and one pipe for all that it writes.
Started StartItem(const frame::Run& run, bool has_role);

}  // namespace tidemill::init
