// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/process_use.h"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tidemill {
namespace {

// Each costs some 20 us of the agent's loop, for each container, every few seconds.
constexpr std::size_t kProcessesMost = 256;

// The fields of /proc/PID/stat from the third on. The second, the program's name, is the
// container's own text: it may hold anything, but the last ')' ends it.
std::istringstream StatOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  return std::istringstream(name_end == text.npos ? "" : text.substr(name_end + 1));
}

void AddStat(pid_t pid, ContainerUse& use) {
  std::istringstream fields = StatOf(pid);
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  std::int64_t ticks = 0;
  for (int field = 14; field <= 17; ++field) {  // own and waited-for, user and system
    std::int64_t some = 0;
    fields >> some;
    ticks += some;
  }
  for (int field = 18; field < 24; ++field) fields >> skipped;
  std::int64_t pages = 0;
  fields >> pages;
  use.cpu += std::chrono::microseconds(ticks * 1'000'000 / sysconf(_SC_CLK_TCK));
  use.memory_bytes += pages * sysconf(_SC_PAGESIZE);
}

}  // namespace

ContainerUse UseOf(pid_t init) {
  ContainerUse use;
  std::vector<pid_t> processes{init};
  for (std::size_t i = 0; i < processes.size() && i < kProcessesMost; ++i) {
    const std::string pid = std::to_string(processes[i]);
    AddStat(processes[i], use);
    // Of the main thread; children of other threads are left out until their parent ends.
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    for (pid_t child = 0; children >> child;) processes.push_back(child);
  }
  return use;
}

}  // namespace tidemill
