// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/machine.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <limits>

#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

std::int64_t TotalMemory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::int64_t kib = 0;
  while (file >> word) {
    if (word == "MemTotal:" && file >> kib) return kib * 1024;
  }
  return sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

// A limit of the whole container that we may be in ourselves; "max" is none.
std::int64_t CgroupMemory(const char* path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : kNone;
}

}  // namespace

Resources MachineShape() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  const std::int64_t count = known ? CPU_COUNT(&cpus) : sysconf(_SC_NPROCESSORS_ONLN);
  const std::int64_t memory =
      std::min({TotalMemory(), CgroupMemory("/sys/fs/cgroup/memory.max"),
                CgroupMemory("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
  return {std::max<std::int64_t>(count, 1) * 1000, memory};
}

std::string DiskTrouble(const std::string& folder) {
  // An item's socket, its log and its scratch folder need a little.
  constexpr std::uint64_t kLeastBytes = 16 << 20;
  struct statvfs disk{};
  if (statvfs(folder.c_str(), &disk) != 0) return "cannot look at its disk";
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (disk.f_flag & ST_RDONLY) return "its disk is a read-only file system";
  if (free >= kLeastBytes) return {};
  return "no space left on device: its disk has " + std::to_string(free >> 20U) + " MiB left";
}

std::string MachineName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "machine";
  std::string text(name.data());
  if (text.size() > limits::kMachineNameBytes) text.resize(limits::kMachineNameBytes);
  return IsName(text) ? text : "machine";
}

}  // namespace tidemill
