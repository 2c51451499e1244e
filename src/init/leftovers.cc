// SPDX-License-Identifier: Apache-2.0
#include "init/leftovers.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace tidemill::init {
namespace {

// A killed process ends at once unless the kernel holds it, as a dead network disk does.
constexpr int kPatienceSeconds = 10;
// New children may appear without a signal to us when somebody else's parent dies.
constexpr long kRoundNanoseconds = 10'000'000;

// Of the main thread, which is the only one; /proc/self would name it only by number.
constexpr char kChildren[] = "/proc/thread-self/children";

int OpenChildren() { return open(kChildren, O_RDONLY | O_CLOEXEC); }

// A group holds only processes of one session, and items' sessions are not ours: who is in the
// group of a child is a descendant. A signal to a group also reaches those that it forks meanwhile.
void KillWithGroup(pid_t child) {
  const pid_t group = getpgid(child);
  if (group > 1 && group != getpgrp()) kill(-group, SIGKILL);
  kill(child, SIGKILL);
}

// True if there is no child any more.
bool ReapAll() {
  pid_t pid = 0;
  do {
    pid = waitpid(-1, nullptr, WNOHANG);
  } while (pid > 0 || (pid < 0 && errno == EINTR));
  return pid < 0 && errno == ECHILD;
}

}  // namespace

bool Leftovers::Works() const {
  if (first_process_) return true;
  const int file = OpenChildren();
  if (file < 0) return false;
  close(file);
  return true;
}

void Leftovers::KillAll() const {
  if (first_process_) {
    kill(-1, SIGKILL);
  } else {
    KillChildren(0);
  }
}

void Leftovers::KillSession(pid_t session) const { KillChildren(session); }

// Those that stand behind the first few hundred are met in the next round.
void Leftovers::KillChildren(pid_t session) {
  const int file = OpenChildren();
  if (file < 0) return;
  char text[4096];
  const ssize_t size = read(file, text, sizeof(text));
  close(file);
  pid_t child = 0;
  for (ssize_t i = 0; i < size; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      child = child * 10 + (text[i] - '0');
      continue;
    }
    if (child > 1 && (session == 0 || getsid(child) == session)) KillWithGroup(child);
    child = 0;
  }
}

bool Leftovers::End() const {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t patience_ends = now.tv_sec + kPatienceSeconds;
  while (true) {
    KillAll();
    if (ReapAll()) return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec >= patience_ends) return false;
    const timespec round{.tv_sec = 0, .tv_nsec = kRoundNanoseconds};
    sigtimedwait(&child_signal, nullptr, &round);
  }
}

}  // namespace tidemill::init
