// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "frame/frame.h"

namespace tidemill::init {

// The main process of an item. It leads a session and a process group of its own.
struct Started {
  // If there is no process one of these is an errno, and the rest is without meaning.
  int error = 0;          // the program cannot be run
  int machine_error = 0;  // nothing could be run now
  pid_t pid = 0;
  int output = -1;  // what it writes to stdout and stderr; does not block
};

// Starts the program of a run, found as execvpe finds it, but in the PATH of the run and without a
// shell for a file of no kind that the kernel knows. It has init's stdin, no other descriptor, and
// init's actions for signals, with none blocked. With a role, it inherits no variables of other
// keys.
Started StartItem(const frame::Run& run, bool has_role);

// When memory is full the kernel is to end what an item has started, and never init, which has to
// tell of it. To raise a score needs no privilege, and an item can lower it to init's at most.
// False: not yet. Until its exec is over the item's files in /proc are root's, because init may not
// be dumped; and init goes on a little earlier than that.
bool BeKilledBeforeInit(pid_t item);

}  // namespace tidemill::init
