// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of engines whose items are processes that /proc shows. Shells are at /bin/sh.

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "engine/engine_testing.h"

namespace tidemill {

class RealEngineTest : public EngineTest {
 protected:
  // A word that only processes of this test have in their command line.
  RealEngineTest() : mark_("mark-" + std::to_string(getpid()) + "-" + folder_.substr(20)) {}

  ItemRun Shell(std::uint64_t number, const std::string& script) {
    ItemRun run = ItemOf(number, {});
    run.entrypoint = std::vector<std::string>{"/bin/sh", "-c", script, mark_};
    run.command = std::nullopt;
    return run;
  }
  std::vector<pid_t> Marked() const {
    std::vector<pid_t> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
      const std::string name = each.path().filename();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      const std::string line = Read(each.path() / "cmdline");
      if (line.find(mark_) != line.npos) found.push_back(std::stoi(name));
    }
    return found;
  }
  // Empty if the process is gone.
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text, '\xff');
    return text;
  }
  static pid_t ParentOf(pid_t pid) {
    const std::string line = Read("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t end = line.rfind(')');
    return end == line.npos ? 0 : std::stoi(line.substr(end + 4));
  }
  // A shell that has just forked is there twice.
  void RunUntilMarked() {
    holder().RunUntil([&] { return !Marked().empty(); });
  }
  void RunUntilNoneIsMarked() {
    holder().RunUntil([&] { return Marked().empty(); });
    EXPECT_TRUE(Marked().empty());
  }
  // The parent of the first of them.
  pid_t Init() {
    const auto marked = Marked();
    for (const pid_t pid : marked) {
      const pid_t parent = ParentOf(pid);
      if (std::find(marked.begin(), marked.end(), parent) == marked.end()) return parent;
    }
    return 0;
  }
  std::size_t FoldersLeft() const {
    std::error_code error;
    const std::filesystem::directory_iterator each(folder_ + "/containers", error);
    return error ? 0 : static_cast<std::size_t>(std::distance(begin(each), end(each)));
  }
  const std::string& LogOf(std::uint64_t number) { return events_.logs[number]; }

  const std::string mark_;
};

}  // namespace tidemill
