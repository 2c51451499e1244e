// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/cgroup_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

namespace tidemill {
namespace {

// A process is in a few cgroups, a line each.
constexpr int kLinesMost = 100;

// Of lines such as "4:memory:/docker/abc" and "0::/system.slice/docker-abc.scope". Version 1 wins:
// where both are mounted, the memory is counted there.
std::optional<std::string> PeakFile(pid_t pid, const CgroupMemory::Roots& roots) {
  std::ifstream file(roots.proc + "/" + std::to_string(pid) + "/cgroup");
  std::optional<std::string> unified;
  std::string line;
  for (int i = 0; i < kLinesMost && std::getline(file, line); ++i) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (path.find("/..") != path.npos) continue;  // outside of what we see
    if (controllers.find(",memory,") != controllers.npos) {
      return roots.cgroup + "/memory" + path + "/memory.max_usage_in_bytes";
    }
    if (controllers == ",,") unified = roots.cgroup + path + "/memory.peak";
  }
  return unified;
}

}  // namespace

std::optional<CgroupMemory> CgroupMemory::Of(pid_t pid, const Roots& roots) {
  const auto path = PeakFile(pid, roots);
  if (!path) return std::nullopt;
  Fd peak(open(path->c_str(), O_RDWR | O_CLOEXEC));
  if (!peak) return std::nullopt;
  CgroupMemory memory(std::move(peak));
  if (!memory.Reset()) return std::nullopt;
  return memory;
}

std::optional<std::int64_t> CgroupMemory::TakePeak() {
  char text[32];
  const ssize_t size = pread(peak_.get(), text, sizeof text, 0);
  std::int64_t bytes = 0;
  if (size <= 0 || std::from_chars(text, text + size, bytes).ec != std::errc{}) return std::nullopt;
  Reset();
  return bytes;
}

bool CgroupMemory::Reset() { return pwrite(peak_.get(), "0\n", 2, 0) == 2; }

}  // namespace tidemill
