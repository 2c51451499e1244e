// SPDX-License-Identifier: Apache-2.0
#include "init/oom_score.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace tidemill::init {
namespace {

// An exec is over in microseconds, or when the process gets a processor.
constexpr std::int64_t kFirstWaitUs = 500;
constexpr std::int64_t kLastWaitUs = 2'000'000;

// False: not yet. Until its exec is over the files of a process in /proc are root's, because init
// may not be dumped; and init goes on a little earlier than that.
bool BeKilledBeforeInit(pid_t pid) {
  char path[48];
  snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", static_cast<int>(pid));
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  // Where there is no /proc the kernel goes by size alone, and init is small.
  if (file < 0) return errno != EACCES && errno != EPERM;
  constexpr std::string_view kFirst = "1000";
  const bool raised = write(file, kFirst.data(), kFirst.size()) == std::ssize(kFirst);
  close(file);
  return raised;
}

}  // namespace

void OomScore::Raise(pid_t pid) {
  pid_ = pid;
  wait_us_ = kFirstWaitUs;
  TryAgain();
}

void OomScore::TryAgain() {
  at_us_ = kNever;
  if (BeKilledBeforeInit(pid_)) return;
  // One that has changed its user stays as it is.
  if (wait_us_ > kLastWaitUs) return;
  at_us_ = After(NowUs(), wait_us_);
  wait_us_ *= 2;
}

}  // namespace tidemill::init
