// SPDX-License-Identifier: Apache-2.0
#include "init/oom_kills.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

namespace tidemill::init {
namespace {

// A process is in some twelve cgroups at most, a line each.
constexpr std::size_t kCgroupBytes = 16 * 1024;
// Both kinds of counter are in a file of a few lines.
constexpr std::size_t kCounterBytes = 1024;

std::string ReadFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text(kCgroupBytes, '\0');
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

// Of a line such as "4:memory:/docker/abc".
struct Cgroup {
  std::string controllers;  // ",memory,"; ",," is version 2
  std::string path;
};

Cgroup CgroupOf(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
  if (second == line.npos) return {};
  std::string controllers(line.substr(first + 1, second - first - 1));
  return {"," + controllers + ",", std::string(line.substr(second + 1))};
}

int OpenCounter(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }

}  // namespace

OomKills::~OomKills() {
  if (file_ >= 0) close(file_);
}

// Where both versions are mounted the memory is counted by version 1. Inside of a container our
// cgroup may be mounted as the root, whatever its path is outside.
bool OomKills::Open() {
  const std::string all = ReadFile(proc_ + "/self/cgroup");
  std::string_view rest = all;
  std::string unified;
  while (file_ < 0 && !rest.empty()) {
    const Cgroup cgroup = CgroupOf(TakeLine(rest));
    if (cgroup.controllers == ",,") unified = cgroup.path;
    if (cgroup.controllers.find(",memory,") == std::string::npos) continue;
    file_ = OpenCounter(cgroups_ + "/memory" + cgroup.path + "/memory.oom_control");
    if (file_ < 0) file_ = OpenCounter(cgroups_ + "/memory/memory.oom_control");
  }
  if (file_ < 0 && !unified.empty()) file_ = OpenCounter(cgroups_ + unified + "/memory.events");
  if (file_ < 0) file_ = OpenCounter(cgroups_ + "/memory.events");
  return file_ >= 0;
}

std::int64_t OomKills::Count() const {
  char text[kCounterBytes];
  const ssize_t size = file_ < 0 ? -1 : pread(file_, text, sizeof(text), 0);
  if (size <= 0) return 0;
  constexpr std::string_view kName = "oom_kill ";
  std::string_view rest(text, static_cast<std::size_t>(size));
  while (!rest.empty()) {
    std::string_view line = TakeLine(rest);
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(kName.size());
    std::int64_t count = 0;
    std::from_chars(line.data(), line.data() + line.size(), count);
    return count;
  }
  return 0;
}

}  // namespace tidemill::init
