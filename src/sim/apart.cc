// SPDX-License-Identifier: Apache-2.0
#include "sim/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tidemill {
namespace {

// Both ends are this very program, so an outcome crosses the pipe as it is in memory; its texts
// follow. All of it fits in a pipe: the run's process never waits for its reader.
struct Head {
  SimVerdict verdict;
  std::uint64_t trace;
  std::uint64_t steps;
  std::int64_t settlements;
  std::int64_t faults;
  double machine_hours;
  std::size_t id_bytes;
  std::size_t what_bytes;
};
static_assert(std::is_trivially_copyable_v<Head>);
constexpr std::size_t kIdBytes = 32;
constexpr std::size_t kWhatBytes = 4000;

std::string Pack(const SimOutcome& outcome) {
  const std::string id = outcome.id.substr(0, kIdBytes);
  const std::string what = outcome.what.substr(0, kWhatBytes);
  const Head head{outcome.verdict, outcome.trace,         outcome.steps, outcome.settlements,
                  outcome.faults,  outcome.machine_hours, id.size(),     what.size()};
  std::string out(sizeof(head), '\0');
  std::memcpy(out.data(), &head, sizeof(head));
  return out + id + what;
}

// False: the run ended before it had said everything.
bool Unpack(std::string_view text, SimOutcome& outcome) {
  Head head{};
  if (text.size() < sizeof(head)) return false;
  std::memcpy(&head, text.data(), sizeof(head));
  if (text.size() != sizeof(head) + head.id_bytes + head.what_bytes) return false;
  outcome.verdict = head.verdict;
  outcome.trace = head.trace;
  outcome.steps = head.steps;
  outcome.settlements = head.settlements;
  outcome.faults = head.faults;
  outcome.machine_hours = head.machine_hours;
  outcome.id = text.substr(sizeof(head), head.id_bytes);
  outcome.what = text.substr(sizeof(head) + head.id_bytes);
  return true;
}

[[noreturn]] void RunChild(const std::function<SimOutcome()>& play, int pipe, bool quiet) {
  // Whoever waits for it may be killed; nobody else would end it then.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (quiet) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  }
  const std::string text = Pack(play());
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = write(pipe, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) _exit(1);
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  // Not exit(): what the parent has not yet printed is not ours to print.
  _exit(0);
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("the program was ended by a signal: ") + strsignal(WTERMSIG(status));
  }
  return "the program ended in the middle, with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<ApartRun> ApartRun::Begin(const std::function<SimOutcome()>& play, bool quiet) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Fail(Code::kUnavailable, std::strerror(errno));
  Fd reading(ends[0]);
  const Fd writing(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return Fail(Code::kUnavailable, std::strerror(errno));
  if (pid == 0) RunChild(play, writing.get(), quiet);
  return ApartRun(pid, std::move(reading));
}

ApartRun::ApartRun(ApartRun&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pipe_(std::move(other.pipe_)) {}

ApartRun::~ApartRun() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

SimOutcome ApartRun::End() {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = read(pipe_.get(), buffer.data(), buffer.size())) != 0) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  SimOutcome outcome;
  if (status == 0 && Unpack(text, outcome)) return outcome;
  outcome.verdict = SimVerdict::kSafety;
  outcome.id = "abort";
  outcome.what = HowItEnded(status);
  return outcome;
}

SimOutcome Stuck() {
  SimOutcome outcome;
  outcome.verdict = SimVerdict::kLiveness;
  outcome.id = "stuck";
  outcome.what = "the run took too long in real time, and was given up";
  return outcome;
}

SimOutcome PlayApart(const std::function<SimOutcome()>& play, Duration limit) {
  Result<ApartRun> run = ApartRun::Begin(play, true);
  if (!run) {
    SimOutcome outcome;
    outcome.verdict = SimVerdict::kSafety;
    outcome.id = "no process";
    outcome.what = run.error().reason;
    return outcome;
  }
  pollfd waits{run->fd(), POLLIN, 0};
  const auto limit_ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  if (poll(&waits, 1, static_cast<int>(limit_ms)) == 0) return Stuck();
  return run->End();
}

}  // namespace tidemill
