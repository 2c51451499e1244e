// SPDX-License-Identifier: Apache-2.0
#include "engine/process/kill_below.h"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

namespace tidemill {
namespace {

// As one that has ended but was not waited for.
bool IsDead(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  // The name before it may hold anything, but the last ')' ends it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 2 >= text.size()) return true;
  const char state = text[name_end + 2];
  return state == 'Z' || state == 'X';
}

}  // namespace

// Init does not run any more, so it waits for nobody: the number of a child of it stays that
// child's. Items have sessions of their own, so who is in the group of a child is below init too.
bool KillBelow(pid_t init) {
  kill(init, SIGSTOP);
  const std::string pid = std::to_string(init);
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  bool any = false;
  for (pid_t child = 0; children >> child;) {
    const pid_t group = getpgid(child);
    if (group > 1 && group != getpgrp() && group != getpgid(init)) kill(-group, SIGKILL);
    if (IsDead(child)) continue;
    any = true;
    kill(child, SIGKILL);
  }
  return any;
}

}  // namespace tidemill
