// SPDX-License-Identifier: Apache-2.0
#pragma once

// How init ends. It ends nothing without a reason: its end is the end of its container.
//
//   0  the agent went away, or somebody asked with SIGTERM
//   1  the machine or the container cannot carry it; the line on stderr says what is missing
//   2  wrong arguments
//   3  the agent did not keep to the frames, or sent more runs ahead than may wait, or more to a
//      stream than it may have unwritten
//   4  a process or a file of an item could not be removed, so no other item may run here
namespace tidemill::init {

enum ExitCode : int {
  kExitDone = 0,
  kExitMachine = 1,
  kExitUsage = 2,
  kExitAgent = 3,
  kExitDirty = 4,
};

// One line on stderr. `error` is an errno, or 0.
void Complain(const char* what, int error);
[[noreturn]] void Die(ExitCode code, const char* what, int error);

}  // namespace tidemill::init
