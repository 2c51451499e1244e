// SPDX-License-Identifier: Apache-2.0
#include "init/loop.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "init/clocks.h"
#include "init/item.h"

namespace tidemill::init {
namespace {

// An agent sends so far ahead that init is never idle, which is far less.
constexpr std::size_t kWaitingMost = 64;
constexpr std::int64_t kTryEveryUs = 200'000;
// Without an agent so much is kept; then who writes more waits.
constexpr std::size_t kUnsentAwayMost = 1024 * 1024;
// An agent hears of each End at once; one that does not is gone or broken.
constexpr std::size_t kUnheardMost = 2048;
// While more is unsent nothing is read of items and none is started: they wait for the agent.
constexpr std::size_t kMaxLoopUnsent = 256 * 1024;
constexpr std::size_t kOwnPolls = 3;  // what is polled before the door
// For the agent to read the last End.
constexpr std::int64_t kLastFlushUs = 5'000'000;

timespec Span(std::int64_t us) {
  return {.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1'000};
}

}  // namespace

Loop::Loop(const LoopOptions& options, const Scratch& scratch, Secrets& secrets)
    : options_(options),
      scratch_(scratch),
      secrets_(secrets),
      leftovers_(options.first_process),
      link_(options.socket, options.socket_path),
      desk_(door_, link_, oom_kills_),
      streams_(link_, leftovers_),
      scratch_variable_(std::string("TIDEMILL_SCRATCH=") + scratch.path()),
      deadline_us_(kNever) {
  // Else the cgroup is not ours alone.
  if (options_.first_process) oom_kills_.Open();
  if (const int error = door_.Open(); error != 0) {
    Complain("there is no loopback to serve on", error);
  } else {
    url_variable_ = "TIDEMILL_URL=" + door_.url();
  }
}

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
  bool has_room_now = false;
  do {
    if (phase_ == Phase::kDraining) Drain();
    StartWaiting();
    desk_.Serve(NowUs());
    if (exit_) return;
    const bool had_none = !MayPut();
    // After the start of the next item, so that it is under way while the agent reads.
    if (!link_.Flush()) Lose();
    // Once all is sent nothing else would wake us for what had to wait.
    has_room_now = had_none && MayPut();
  } while (has_room_now);
  TryToReturn();
  streams_.Advance(NowUs());
  Wait();
  if (signals_ready_) TakeSignals();
  if (signals_ready_ || reap_again_) Reap();
  if (output_ready_) TakeOutput();
  streams_.Serve(polls_);
  TakeDeadline();
  if (NowUs() >= score_.at_us()) score_.TryAgain();
  if (frames_ready_) TakeFrames();
  TakeRequests();
}

bool Loop::MayPut() const {
  return link_.unsent_bytes() < (link_.connected() ? kMaxLoopUnsent : kUnsentAwayMost) &&
         link_.unheard() < kUnheardMost;
}

void Loop::Lose() {
  if (!link_.connected()) return;
  if (!link_.Lose()) return Finish(kExitDone);
  streams_.Cut();
  away_until_us_ = After(NowUs(), options_.away_us);
  next_try_us_ = NowUs();
}

void Loop::TryToReturn() {
  const std::int64_t now_us = NowUs();
  if (link_.connected() || exit_ || now_us < next_try_us_) return;
  if (now_us >= away_until_us_) {
    Complain("no agent has come back", 0);
    return Finish(kExitDone);
  }
  std::vector<AgentLink::Have> runs = desk_.Runs();
  if (!desk_.is_loop() && phase_ != Phase::kIdle) runs.push_back({item_.number, item_.tag});
  for (const Waiting& each : waiting_) {
    const auto run = frame::DecodeRun(each.payload);
    if (run) runs.push_back({each.number, std::string(run->tag)});
  }
  next_try_us_ = link_.Return(runs) ? kNever : After(now_us, kTryEveryUs);
}

void Loop::Finish(ExitCode code) {
  if (!exit_) exit_ = code;
}

void Loop::FlushLast() {
  const std::int64_t end_us = NowUs() + kLastFlushUs;
  while (link_.connected() && link_.Flush() && link_.unsent_bytes() > 0) {
    const std::int64_t left_us = end_us - NowUs();
    if (left_us <= 0) return;
    pollfd writable{.fd = link_.socket(), .events = POLLOUT, .revents = 0};
    const timespec span = Span(left_us);
    ppoll(&writable, 1, &span, nullptr);
  }
}

// --- what waits ---

void Loop::StartWaiting() {
  if (desk_.is_loop()) {
    if (phase_ == Phase::kIdle && desk_.is_over()) return Finish(kExitDone);
    while (phase_ == Phase::kIdle && desk_.anyone_waits() && MayPut() && !exit_) StartProgram();
    // It has been told that there is no more; this is how long it may think about it.
    if (phase_ == Phase::kRunning && desk_.is_over() && deadline_us_ == kNever) {
      deadline_us_ = After(NowUs(), item_.grace_us);
    }
  }
  while (phase_ == Phase::kIdle && !waiting_.empty() && MayPut() && !exit_) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (next.skip) {
      const auto run = frame::DecodeRun(next.payload);
      link_.PutEnd({next.number, std::string(run ? run->tag : "")}, {.skipped = true});
    } else {
      StartRun(next);
    }
    // The item has its own copy of what is secret in it.
    explicit_bzero(next.payload.data(), next.payload.size());
  }
}

void Loop::StartRun(const Waiting& waiting) {
  auto run = frame::DecodeRun(waiting.payload);
  if (!run) {
    Complain("the agent sent a run that is none", 0);
    return Finish(kExitAgent);
  }
  item_ = {.number = waiting.number, .tag = std::string(run->tag)};
  if (!Start(*run)) return;
  desk_.SetRunning(item_.number);
  if (run->timeout_us > 0) deadline_us_ = After(item_.start_us, run->timeout_us);
}

void Loop::StartProgram() {
  auto program = frame::DecodeRun(program_);
  if (!program) return Finish(kExitAgent);
  item_ = {};
  desk_.OnStarted(0);
  if (Start(*program)) desk_.OnStarted(item_.pid);
}

bool Loop::Start(frame::Run& run) {
  item_.grace_us = run.grace_us;
  item_.end.start_ms = WallMs();
  item_.start_us = NowUs();
  item_.oom_kills = oom_kills_.Count();
  const bool has_role = desk_.role().is_set();
  const std::vector<std::string> of_role = desk_.role().Variables(door_.url());
  AddVariables(run, of_role);
  const int secrets_error = secrets_.Write(run);
  item_.end.no_secrets = secrets_error != 0;
  const Started started =
      secrets_error == 0 ? StartItem(run, has_role) : Started{.error = secrets_error};
  if (started.machine_error != 0) {
    // Not the item's fault: it begins anew in another container.
    Complain("an item cannot be started", started.machine_error);
    Finish(kExitMachine);
    return false;
  }
  if (started.error != 0) {
    item_.end.error = started.error;
    CleanUp();
    TellEnd();
    return false;
  }
  item_.pid = started.pid;
  item_.output = started.output;
  phase_ = Phase::kRunning;
  deadline_us_ = kNever;
  score_.Raise(item_.pid);
  return true;
}

void Loop::AddVariables(frame::Run& run, const std::vector<std::string>& of_role) const {
  if (!url_variable_.empty()) run.env.push_back(url_variable_);
  run.env.insert(run.env.end(), of_role.begin(), of_role.end());
}

void Loop::Wait() {
  const bool read_output = item_.output >= 0 && phase_ != Phase::kDraining && MayPut();
  const short to_agent = link_.unsent_bytes() > 0 ? POLLOUT : 0;
  polls_.clear();
  polls_.push_back(
      {.fd = link_.socket(), .events = static_cast<short>(POLLIN | to_agent), .revents = 0});
  polls_.push_back({.fd = options_.signals, .events = POLLIN, .revents = 0});
  polls_.push_back({.fd = read_output ? item_.output : -1, .events = POLLIN, .revents = 0});
  door_.AddPolls(MayPut(), polls_);
  door_polls_ = polls_.size() - kOwnPolls;
  streams_.AddPolls(polls_);
  timespec span{};
  const std::int64_t until_us = std::min(
      {deadline_us_, desk_.deadline_us(), next_try_us_, score_.at_us(), streams_.deadline_us()});
  const bool forever = until_us == kNever && !reap_again_;
  if (!forever && !reap_again_) span = Span(std::max<std::int64_t>(0, until_us - NowUs()));
  const int ready = ppoll(polls_.data(), polls_.size(), forever ? nullptr : &span, nullptr);
  if (ready <= 0) {
    for (pollfd& each : polls_) each.revents = 0;
  }
  const auto is_ready = [&](std::size_t i, int what) { return (polls_[i].revents & what) != 0; };
  frames_ready_ = link_.connected() && is_ready(0, POLLIN | POLLHUP | POLLERR);
  signals_ready_ = is_ready(1, POLLIN);
  output_ready_ = is_ready(2, POLLIN | POLLHUP | POLLERR);
}

// --- what comes ---

void Loop::TakeFrames() {
  if (!link_.Receive()) return Lose();
  while (const auto frame = link_.Next()) {
    if (TakeFrame(*frame)) continue;
    Complain("the agent sent what is no run or stream, or too much ahead", 0);
    Finish(kExitAgent);
  }
  link_.Forget();
  if (link_.broken()) {
    Complain("the agent sent what is no frame", 0);
    Finish(kExitAgent);
  }
}

bool Loop::TakeFrame(const frame::Frame& frame) {
  switch (frame.kind) {
    case frame::Kind::kStop:
      Stop(frame.number);
      return true;
    case frame::Kind::kProgram:
      return TakeProgram(frame.payload);
    case frame::Kind::kItem:
      return desk_.Add(frame.number, frame.payload);
    case frame::Kind::kRole:
      desk_.role().Set(frame.payload);
      return true;
    case frame::Kind::kHeard:
      link_.Heard(frame.number);
      return true;
    case frame::Kind::kQuit:
      Finish(kExitDone);
      return true;
    case frame::Kind::kNoMore:
      desk_.NoMore();
      return desk_.is_loop();
    case frame::Kind::kOpen:
      return TakeOpen(frame.number, frame.payload);
    case frame::Kind::kGive:
    case frame::Kind::kResize:
    case frame::Kind::kHold:
    case frame::Kind::kClose:
      return streams_.Take(frame);
    default:
      break;
  }
  if (desk_.is_loop() || waiting_.size() >= kWaitingMost) return false;
  waiting_.push_back({.number = frame.number, .payload = std::string(frame.payload)});
  return true;
}

bool Loop::TakeProgram(std::string_view payload) {
  if (desk_.is_loop() || !waiting_.empty() || phase_ != Phase::kIdle) return false;
  if (url_variable_.empty()) {
    Complain("without loopback there is no loop", 0);
    Finish(kExitMachine);
  }
  program_ = payload;
  desk_.BeALoop();
  return frame::DecodeRun(payload).has_value();
}

bool Loop::TakeOpen(std::uint64_t number, std::string_view payload) {
  auto open = frame::DecodeOpen(payload);
  if (!open || streams_.Has(number)) return false;
  // The run that it is for may have come just before it.
  StartWaiting();
  if (phase_ != Phase::kRunning) {
    link_.Put(frame::EncodeOver(number, {.error = ESRCH}));
    return true;
  }
  const std::vector<std::string> of_role = desk_.role().Variables(door_.url());
  AddVariables(open->program, of_role);
  open->program.env.push_back(scratch_variable_);
  if (!secrets_.variable().empty()) open->program.env.push_back(secrets_.variable());
  streams_.Open(number, *open, desk_.role().is_set());
  return true;
}

void Loop::TakeRequests() {
  const pollfd* const polls = polls_.data() + kOwnPolls;
  const std::size_t count = door_polls_;
  if (!std::any_of(polls, polls + count, [](const pollfd& each) { return each.revents != 0; })) {
    return;
  }
  // What it printed before it asked belongs to the items that it held then.
  int printed = 0;
  if (desk_.is_loop() && item_.output >= 0 && phase_ != Phase::kDraining &&
      ioctl(item_.output, FIONREAD, &printed) == 0) {
    for (int left = printed; left > 0; left -= static_cast<int>(kReadBytes)) TakeOutput();
  }
  door_.Take(polls, count, desk_);
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
    PutOutput({bytes, static_cast<std::size_t>(size)});
  } else if (size == 0) {
    CloseOutput();
  }
}

void Loop::PutOutput(std::string_view bytes) {
  if (desk_.is_loop()) return desk_.OnOutput(bytes);
  link_.Put(frame::EncodeLog(item_.number, bytes));
}

void Loop::TakeDeadline() {
  const std::int64_t now_us = NowUs();
  if (desk_.is_loop()) {
    if (const auto grace_us = desk_.TimeOut(now_us)) AskWithin(*grace_us);
  }
  if (deadline_us_ == kNever || now_us < deadline_us_) return;
  if (phase_ == Phase::kRunning) {
    item_.end.timed_out = !desk_.is_loop();
    Ask();
  } else if (phase_ == Phase::kAsked) {
    Kill();
  } else if (phase_ == Phase::kKilled) {
    Complain("an item does not die", 0);
    Finish(kExitDirty);
  }
}

}  // namespace tidemill::init
