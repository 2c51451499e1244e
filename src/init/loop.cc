// SPDX-License-Identifier: Apache-2.0
#include "init/loop.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <limits>

#include "init/item.h"

namespace tidemill::init {
namespace {

// An agent sends so far ahead that init is never idle, which is far less.
constexpr std::size_t kWaitingMost = 64;
// While more is unsent nothing is read of items and none is started: they wait for the agent.
constexpr std::size_t kUnsentMost = 256 * 1024;
constexpr std::size_t kReadBytes = 32 * 1024;
// A flood of dying orphans may not keep us from timeouts.
constexpr int kReapsATurn = 64;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
// What does not die of SIGKILL in this time is stuck in the kernel: a new container is needed.
constexpr std::int64_t kDyingUs = 30'000'000;
// For the agent to read the last End.
constexpr std::int64_t kLastFlushUs = 5'000'000;

std::int64_t ClockUs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
}

std::int64_t NowUs() { return ClockUs(CLOCK_MONOTONIC); }

std::int64_t After(std::int64_t now_us, std::int64_t wait_us) {
  return wait_us > kNever - now_us ? kNever : now_us + wait_us;
}

std::int64_t Us(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

timespec Span(std::int64_t us) {
  return {.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1'000};
}

}  // namespace

Loop::Loop(const LoopOptions& options, const Scratch& scratch, Secrets& secrets)
    : options_(options),
      scratch_(scratch),
      secrets_(secrets),
      leftovers_(options.first_process),
      link_(options.socket),
      deadline_us_(kNever) {}

ExitCode Loop::Run() {
  link_.Put(frame::EncodeHello());
  while (!exit_) Turn();
  // Nobody may be left when we are gone, also where no namespace ends with us.
  if (!leftovers_.End()) Complain("a process does not die", 0);
  if (const int error = secrets_.Empty(); error != 0) Complain("secret files are left", error);
  FlushLast();
  return *exit_;
}

void Loop::Turn() {
  if (phase_ == Phase::kDraining) Drain();
  StartWaiting();
  if (exit_) return;
  // After the start of the next item, so that it is under way while the agent reads.
  if (!link_.Flush()) return Finish(kExitDone);
  Wait();
  if (signals_ready_) TakeSignals();
  if (signals_ready_ || reap_again_) Reap();
  if (output_ready_) TakeOutput();
  TakeDeadline();
  if (frames_ready_) TakeFrames();
}

bool Loop::MayPut() const { return link_.unsent_bytes() < kUnsentMost; }

void Loop::Finish(ExitCode code) {
  if (!exit_) exit_ = code;
}

void Loop::FlushLast() {
  const std::int64_t end_us = NowUs() + kLastFlushUs;
  while (link_.Flush() && link_.unsent_bytes() > 0) {
    const std::int64_t left_us = end_us - NowUs();
    if (left_us <= 0) return;
    pollfd writable{.fd = link_.socket(), .events = POLLOUT, .revents = 0};
    const timespec span = Span(left_us);
    ppoll(&writable, 1, &span, nullptr);
  }
}

// --- what waits ---

void Loop::StartWaiting() {
  while (phase_ == Phase::kIdle && !waiting_.empty() && MayPut() && !exit_) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (next.skip) {
      link_.Put(frame::EncodeEnd(next.number, {.skipped = true}));
    } else {
      Start(next);
    }
    // The item has its own copy of what is secret in it.
    explicit_bzero(next.payload.data(), next.payload.size());
  }
}

void Loop::Start(const Waiting& waiting) {
  auto run = frame::DecodeRun(waiting.payload);
  if (!run) {
    Complain("the agent sent a run that is none", 0);
    return Finish(kExitAgent);
  }
  item_ = {.number = waiting.number, .grace_us = run->grace_us};
  item_.end.start_ms = std::max<std::int64_t>(0, ClockUs(CLOCK_REALTIME) / 1'000);
  item_.start_us = NowUs();
  const int secrets_error = secrets_.Write(*run);
  item_.end.no_secrets = secrets_error != 0;
  const Started started = secrets_error == 0 ? StartItem(*run) : Started{.error = secrets_error};
  if (started.machine_error != 0) {
    // Not the item's fault: it begins anew in another container.
    Complain("an item cannot be started", started.machine_error);
    return Finish(kExitMachine);
  }
  if (started.error != 0) {
    item_.end.error = started.error;
    CleanUp();
    link_.Put(frame::EncodeEnd(item_.number, item_.end));
    return;
  }
  item_.pid = started.pid;
  item_.output = started.output;
  phase_ = Phase::kRunning;
  deadline_us_ = run->timeout_us == 0 ? kNever : After(item_.start_us, run->timeout_us);
}

void Loop::Wait() {
  const bool read_output = item_.output >= 0 && phase_ != Phase::kDraining && MayPut();
  const short to_agent = link_.unsent_bytes() > 0 ? POLLOUT : 0;
  pollfd fds[] = {
      {.fd = link_.socket(), .events = static_cast<short>(POLLIN | to_agent), .revents = 0},
      {.fd = options_.signals, .events = POLLIN, .revents = 0},
      {.fd = read_output ? item_.output : -1, .events = POLLIN, .revents = 0},
  };
  timespec span{};
  const bool forever = deadline_us_ == kNever && !reap_again_;
  if (!forever && !reap_again_) span = Span(std::max<std::int64_t>(0, deadline_us_ - NowUs()));
  const int ready = ppoll(fds, std::size(fds), forever ? nullptr : &span, nullptr);
  const auto is_ready = [&](int i, int what) { return ready > 0 && (fds[i].revents & what) != 0; };
  frames_ready_ = is_ready(0, POLLIN | POLLHUP | POLLERR);
  signals_ready_ = is_ready(1, POLLIN);
  output_ready_ = is_ready(2, POLLIN | POLLHUP | POLLERR);
}

// --- what comes ---

void Loop::TakeFrames() {
  if (!link_.Receive()) return Finish(kExitDone);
  while (const auto frame = link_.Next()) {
    if (frame->kind == frame::Kind::kStop) {
      Stop(frame->number);
      continue;
    }
    if (waiting_.size() >= kWaitingMost) {
      Complain("the agent sent too many runs ahead", 0);
      return Finish(kExitAgent);
    }
    waiting_.push_back({.number = frame->number, .payload = std::string(frame->payload)});
  }
  link_.Forget();
  if (link_.broken()) {
    Complain("the agent sent what is no frame", 0);
    Finish(kExitAgent);
  }
}

void Loop::TakeSignals() {
  signalfd_siginfo infos[4];
  const ssize_t size = read(options_.signals, infos, sizeof(infos));
  for (ssize_t i = 0; i * static_cast<ssize_t>(sizeof(infos[0])) < size; ++i) {
    // To PID 1 a sender outside of the container has no number. An item is not obeyed: its end
    // would look like that of the machine, and it would be tried again and again.
    const bool from_item = options_.first_process && infos[i].ssi_pid != 0;
    if (infos[i].ssi_signo == SIGTERM && !from_item) Finish(kExitDone);
  }
}

void Loop::TakeOutput() {
  if (item_.output < 0 || phase_ == Phase::kDraining) return;
  char bytes[kReadBytes];
  const ssize_t size = read(item_.output, bytes, sizeof(bytes));
  if (size > 0) {
    link_.Put(frame::EncodeLog(item_.number, {bytes, static_cast<std::size_t>(size)}));
  } else if (size == 0) {
    CloseOutput();
  }
}

void Loop::TakeDeadline() {
  if (deadline_us_ == kNever || NowUs() < deadline_us_) return;
  if (phase_ == Phase::kRunning) {
    item_.end.timed_out = true;
    Ask();
  } else if (phase_ == Phase::kAsked) {
    Kill();
  } else if (phase_ == Phase::kKilled) {
    Complain("an item does not die", 0);
    Finish(kExitDirty);
  }
}

// --- how an item ends ---

void Loop::Reap() {
  pid_t pid = 0;
  bool exited = false;
  int status = 0;
  rusage usage{};
  int reaps = 0;
  reap_again_ = false;
  while (true) {
    int one_status = 0;
    rusage one_usage{};
    pid = wait4(-1, &one_status, WNOHANG, &one_usage);
    if (pid <= 0) break;
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
  if (others_left && !leftovers_.End()) {
    Complain("a process that an item left does not die", 0);
    Finish(kExitDirty);
  }
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
    link_.Put(frame::EncodeLog(item_.number, {bytes, static_cast<std::size_t>(size)}));
  }
  CloseOutput();
  CleanUp();
  link_.Put(frame::EncodeEnd(item_.number, item_.end));
  phase_ = Phase::kIdle;
}

void Loop::CleanUp() {
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
  if (item_.number == number && phase_ == Phase::kRunning) {
    item_.end.stopped = true;
    return Ask();
  }
  for (Waiting& waiting : waiting_) {
    if (waiting.number == number) waiting.skip = true;
  }
}

void Loop::Ask() {
  if (item_.grace_us == 0) return Kill();
  phase_ = Phase::kAsked;
  kill(-item_.pid, SIGTERM);
  deadline_us_ = After(NowUs(), item_.grace_us);
}

void Loop::Kill() {
  phase_ = Phase::kKilled;
  deadline_us_ = After(NowUs(), kDyingUs);
  leftovers_.KillAll();
}

}  // namespace tidemill::init
