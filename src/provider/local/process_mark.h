// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// A process, so that no other can be taken for it: numbers of processes come again, but not with
// the same start in the same life of the machine. Any thread.
struct ProcessMark {
  pid_t pid = 0;
  std::uint64_t start = 0;  // ticks since the machine came up
  std::string boot = {};    // which life of the machine this is
  bool operator==(const ProcessMark&) const = default;
};

// Of this life; empty if the system does not tell.
std::string BootId();

// What /proc/PID/stat says. Nothing if that is not what it is. Allocates nothing.
struct ProcessStat {
  char state = '?';
  std::uint64_t start = 0;
};
std::optional<ProcessStat> ParseStat(std::string_view text);
// Of a process that is there, zombies too. Allocates nothing.
std::optional<ProcessStat> ReadStat(pid_t pid);

// It is there, and has not ended.
bool Lives(const ProcessMark& mark);
// False: it was not there any more. To nobody else, whatever happens meanwhile.
bool SendSignal(const ProcessMark& mark, int signal);
// SIGKILL to it and all of its process group, which it leads.
void KillGroup(const ProcessMark& mark);

}  // namespace tidemill
