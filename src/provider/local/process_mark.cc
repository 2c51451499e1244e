// SPDX-License-Identifier: Apache-2.0
#include "provider/local/process_mark.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <fstream>

#include "base/fd.h"

namespace tidemill {
namespace {

constexpr int kStartField = 22;  // as in proc(5), which counts from 1
constexpr int kStateField = 3;

}  // namespace

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

std::optional<ProcessStat> ParseStat(std::string_view text) {
  // The name of the program, in parentheses, may have any bytes in it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 4 > text.size()) return std::nullopt;
  text.remove_prefix(name_end + 2);
  ProcessStat stat;
  stat.state = text.front();
  for (int field = kStateField; field < kStartField; ++field) {
    const std::size_t space = text.find(' ');
    if (space == text.npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  const auto read = std::from_chars(text.data(), text.data() + text.size(), stat.start);
  if (read.ec != std::errc()) return std::nullopt;
  return stat;
}

std::optional<ProcessStat> ReadStat(pid_t pid) {
  char path[32] = "/proc/";
  char* end = std::to_chars(path + 6, path + sizeof(path) - 6, pid).ptr;
  for (const char c : std::string_view("/stat")) *end++ = c;
  *end = '\0';
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char text[1024];
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  if (size <= 0) return std::nullopt;
  return ParseStat({text, static_cast<std::size_t>(size)});
}

bool Lives(const ProcessMark& mark) {
  if (mark.pid <= 0 || mark.boot != BootId()) return false;
  const auto stat = ReadStat(mark.pid);
  return stat && stat->start == mark.start && stat->state != 'Z' && stat->state != 'X';
}

bool SendSignal(const ProcessMark& mark, int signal) {
  if (mark.pid <= 0) return false;
  // What is held by a descriptor cannot become another process between the look and the signal.
  const Fd held(static_cast<int>(syscall(SYS_pidfd_open, mark.pid, 0)));
  if (!held || !Lives(mark)) return false;
  return syscall(SYS_pidfd_send_signal, held.get(), signal, nullptr, 0) == 0;
}

void KillGroup(const ProcessMark& mark) {
  // While it lives its number is no other group's.
  if (Lives(mark)) kill(-mark.pid, SIGKILL);
}

}  // namespace tidemill
