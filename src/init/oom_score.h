// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "init/clocks.h"

namespace tidemill::init {

// When memory is full the kernel is to end what is started in the container, and never init, which
// has to tell of it. To raise a score needs no privilege, and a process can lower it to init's at
// most.
class OomScore {
 public:
  // Of a process that has just begun. If it is too early it is tried again at at_us().
  void Raise(pid_t pid);
  void TryAgain();
  // Nothing is tried any more: the process has ended.
  void Forget() { at_us_ = kNever; }
  std::int64_t at_us() const { return at_us_; }

 private:
  pid_t pid_ = 0;
  std::int64_t at_us_ = kNever;
  std::int64_t wait_us_ = 0;
};

}  // namespace tidemill::init
