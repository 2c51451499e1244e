// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"

namespace tidemill {

// The peak memory of a container since the last look, as its cgroup counts it: all its processes
// and their page cache. wait4 would see the largest process only. Loop thread only.
class CgroupMemory {
 public:
  struct Roots {
    std::string proc = "/proc";
    std::string cgroup = "/sys/fs/cgroup";
  };

  // The cgroup of a process, of version 1 or 2. Nothing if it cannot be found, or its peak cannot
  // be set back: then the peak of one item would be that of all before it too.
  static std::optional<CgroupMemory> Of(pid_t pid, const Roots& roots);

  // Nothing: the container is gone.
  std::optional<std::int64_t> TakePeak();

 private:
  explicit CgroupMemory(Fd peak) : peak_(std::move(peak)) {}
  bool Reset();

  Fd peak_;  // kept open: what it says counts from the last time that this descriptor was written
};

}  // namespace tidemill
