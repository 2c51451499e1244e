// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor.h"

#include <csignal>
#include <utility>

namespace tidemill::cli {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
// A program's end wakes us at once; this is for what no signal tells.
constexpr std::chrono::milliseconds kRestFor{5'000};

std::uint64_t SizeOf(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

Supervisor::Supervisor(AsioLoop& loop) : loop_(loop) {
  loop.OnSignal({SIGINT, SIGTERM, SIGHUP}, [this](int) {
    ++signals_;
    loop_.Stop();
  });
  loop.OnSignal({SIGCHLD}, [this](int) { loop_.Stop(); });
}

Supervisor::~Supervisor() { StopAll(); }

Result<void> Supervisor::Start(Program program) {
  const std::uint64_t from = SizeOf(program.plan.log);
  TIDEMILL_TRY(Child child, Child::Start(program.plan));
  running_.push_back({std::move(program), std::move(child), from});
  return {};
}

void Supervisor::Pause(std::chrono::milliseconds time) {
  const TimerId timer = loop_.After(time, [this] { loop_.Stop(); });
  loop_.Run();
  loop_.Cancel(timer);
}

Result<void> Supervisor::WaitUntil(const std::function<bool()>& ready,
                                   std::chrono::seconds at_most) {
  const TimePoint until = loop_.Now() + at_most;
  while (!ready()) {
    if (asked_to_end() || FindEnded()) return Fail(Code::kLost, "interrupted");
    if (loop_.Now() > until) {
      return Fail(Code::kUnavailable, "not ready after " + std::to_string(at_most.count()) + " s");
    }
    Pause(kLookEvery);
  }
  return {};
}

void Supervisor::WaitForEnd() {
  while (!asked_to_end() && !FindEnded()) Pause(kRestFor);
}

Result<void> Supervisor::RunToEnd(const ChildPlan& plan, std::chrono::seconds at_most) {
  TIDEMILL_TRY(Child child, Child::Start(plan));
  const TimePoint until = loop_.Now() + at_most;
  while (!child.Ended()) {
    if (asked_to_end()) return Fail(Code::kLost, "interrupted");
    if (loop_.Now() > until) return Fail(Code::kUnavailable, "it takes too long");
    Pause(kLookEvery);
  }
  if (!child.EndedWell()) return Fail(Code::kInternal, *child.Ended());
  return {};
}

std::optional<Supervisor::Ended> Supervisor::FindEnded() {
  for (Running& running : running_) {
    if (const auto how = running.child.Ended()) {
      return Ended{running.program.name, *how, running.program.plan.log, running.log_from};
    }
  }
  return std::nullopt;
}

bool Supervisor::Stop(Running& running) {
  running.child.Signal(running.program.stop_signal);
  const TimePoint until = loop_.Now() + running.program.stop_time;
  while (!running.child.Ended()) {
    if (signals_ > 1 || loop_.Now() > until) {
      running.child.Kill();
      while (!running.child.Ended()) Pause(kLookEvery);
      return false;
    }
    Pause(kLookEvery);
  }
  return true;
}

bool Supervisor::StopAll() {
  bool gently = true;
  while (!running_.empty()) {
    gently = Stop(running_.back()) && gently;
    running_.pop_back();
  }
  return gently;
}

}  // namespace tidemill::cli
