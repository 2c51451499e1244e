// SPDX-License-Identifier: Apache-2.0
// How a process ends, and all that it has started with it.
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "init/clocks.h"
#include "init/loop.h"

namespace tidemill::init {
namespace {

// A flood of dying orphans may not keep us from timeouts.
constexpr int kReapsATurn = 64;
// What does not die of SIGKILL in this time is stuck in the kernel: a new container is needed.
constexpr std::int64_t kDyingUs = 30'000'000;

std::int64_t Us(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

}  // namespace

void Loop::Reap() {
  pid_t pid = 0;
  bool exited = false;
  int status = 0;
  rusage usage{};
  int reaps = 0;
  reap_again_ = false;
  while (true) {
    // Only a look: who is in its group must be killed before its number can be another's.
    siginfo_t dead{};
    if (waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) != 0) {
      pid = -1;
      break;
    }
    pid = dead.si_pid;
    if (pid == 0) break;
    streams_.OnDeath(pid, dead.si_code == CLD_EXITED ? dead.si_status : 128 + dead.si_status);
    int one_status = 0;
    rusage one_usage{};
    if (wait4(pid, &one_status, WNOHANG, &one_usage) != pid) break;
    if (pid == item_.pid) {
      exited = true;
      status = one_status;
      usage = one_usage;
    }
    if (++reaps >= kReapsATurn) {
      reap_again_ = true;
      break;
    }
  }
  const bool nobody_left = pid < 0 && errno == ECHILD;
  if (exited) OnExit(status, usage, !nobody_left);
}

void Loop::OnExit(int status, const rusage& usage, bool others_left) {
  frame::End& end = item_.end;
  end.duration_us = std::max<std::int64_t>(0, NowUs() - item_.start_us);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit = WEXITSTATUS(status);
  end.cpu_us = Us(usage.ru_utime) + Us(usage.ru_stime);
  end.memory_bytes = std::int64_t{usage.ru_maxrss} * 1'024;
  item_.pid = 0;
  phase_ = Phase::kDraining;
  deadline_us_ = kNever;
  score_.Forget();
  streams_.EndAll();
  if (others_left && !leftovers_.End()) {
    Complain("a process that an item left does not die", 0);
    Finish(kExitDirty);
  }
  desk_.SetRunning(0);
  const bool failed = end.exit != 0 || end.signal != 0;
  end.out_of_memory =
      failed && !end.timed_out && !end.stopped && oom_kills_.Count() > item_.oom_kills;
  // Somebody outside of the container may have been given the pipe, and write on: what is in it now
  // is all that counts.
  if (item_.output >= 0 && ioctl(item_.output, FIONREAD, &item_.output_left) != 0) {
    item_.output_left = 0;
  }
  Drain();
}

void Loop::Drain() {
  char bytes[kReadBytes];
  while (item_.output_left > 0) {
    if (!MayPut()) return;
    const auto most = std::min(sizeof(bytes), static_cast<std::size_t>(item_.output_left));
    const ssize_t size = read(item_.output, bytes, most);
    if (size <= 0) break;
    item_.output_left -= static_cast<int>(size);
    PutOutput({bytes, static_cast<std::size_t>(size)});
  }
  CloseOutput();
  CleanUp();
  TellEnd();
  phase_ = Phase::kIdle;
}

void Loop::TellEnd() {
  if (desk_.is_loop()) return desk_.OnEnded(item_.end);
  link_.PutEnd({item_.number, item_.tag}, item_.end);
}

void Loop::CleanUp() {
  door_.DropAll();
  if (const int error = scratch_.Empty(); error != 0) {
    Complain("the scratch folder cannot be emptied", error);
    Finish(kExitDirty);
  }
  if (const int error = secrets_.Empty(); error != 0) {
    Complain("the folder for secrets cannot be emptied", error);
    Finish(kExitDirty);
  }
}

void Loop::CloseOutput() {
  if (item_.output >= 0) close(item_.output);
  item_.output = -1;
}

void Loop::Stop(std::uint64_t number) {
  if (desk_.is_loop()) {
    if (const auto grace_us = desk_.Stop(number)) AskWithin(*grace_us);
    return;
  }
  if (item_.number == number && phase_ == Phase::kRunning) {
    item_.end.stopped = true;
    return Ask();
  }
  for (Waiting& waiting : waiting_) {
    if (waiting.number == number) waiting.skip = true;
  }
}

void Loop::AskWithin(std::int64_t grace_us) {
  if (phase_ != Phase::kRunning) return;  // it is on its way already
  item_.grace_us = grace_us;
  Ask();
}

void Loop::Ask() {
  desk_.OnAsked();
  if (item_.grace_us == 0) return Kill();
  phase_ = Phase::kAsked;
  kill(-item_.pid, SIGTERM);
  deadline_us_ = After(NowUs(), item_.grace_us);
}

void Loop::Kill() {
  phase_ = Phase::kKilled;
  deadline_us_ = After(NowUs(), kDyingUs);
  streams_.EndAll();
  leftovers_.KillAll();
}

}  // namespace tidemill::init
