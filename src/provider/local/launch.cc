// SPDX-License-Identifier: Apache-2.0
#include "provider/local/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "provider/local/process_mark.h"

namespace tidemill {
namespace {

// Far more than a few calls of the kernel take; a disk that hangs is to be noticed.
constexpr int kBeginsInMs = 10'000;
constexpr int kLastSignal = 64;
constexpr int kMostFds = 65'536;

// All that the new process needs, made before there is one: between fork and exec nothing may be
// allocated, as another thread may have held the allocator's lock.
struct Ready {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::string folder;
  std::string log;
  std::string mark;
  std::string mark_new;
  std::string_view before;
  std::string_view after;
  int told = -1;  // where an errno is written if the program cannot begin
};

std::vector<char*> Words(const std::vector<std::string>& texts) {
  std::vector<char*> words;
  for (const std::string& text : texts) words.push_back(const_cast<char*>(text.c_str()));
  words.push_back(nullptr);
  return words;
}

// --- in the new process: calls of the kernel only ---

[[noreturn]] void GiveUp(const Ready& ready) {
  const int error = errno;
  unlink(ready.mark.c_str());
  [[maybe_unused]] const ssize_t told = write(ready.told, &error, sizeof(error));
  _exit(127);
}

void ResetSignals() {
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal <= kLastSignal; ++signal) sigaction(signal, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool WriteMark(const Ready& ready) {
  const auto stat = ReadStat(getpid());
  if (!stat) return false;
  char line[256];
  std::size_t size = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      if (size < sizeof(line)) line[size++] = c;
    }
  };
  const auto add_number = [&](std::uint64_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    add({digits, static_cast<std::size_t>(end - digits)});
    add(" ");
  };
  add(ready.before);
  add(" ");
  add_number(static_cast<std::uint64_t>(getpid()));
  add_number(stat->start);
  add(ready.after);
  add("\n");
  const int fd = open(ready.mark_new.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool whole = write(fd, line, size) == static_cast<ssize_t>(size);
  close(fd);
  return whole && rename(ready.mark_new.c_str(), ready.mark.c_str()) == 0;
}

bool OpenStandard(const Ready& ready) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log = open(ready.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (nothing < 0 || log < 0) return false;
  return dup2(nothing, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
         dup2(log, STDERR_FILENO) >= 0;
}

// Sockets of libraries are not close-on-exec by themselves.
void HideOthers() {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  if (close_range(kFirst, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = kFirst; fd < kMostFds; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void Become(const Ready& ready) {
  ResetSignals();
  if (chdir(ready.folder.c_str()) != 0 || !OpenStandard(ready) || !WriteMark(ready)) GiveUp(ready);
  HideOthers();
  execve(ready.argv[0], ready.argv.data(), ready.environment.data());
  GiveUp(ready);
}

[[noreturn]] void BeginSession(const Ready& ready) {
  // The parent of the second is nobody of ours as soon as the first is gone.
  const pid_t pid = fork();
  if (pid < 0) GiveUp(ready);
  if (pid > 0) _exit(0);
  if (setsid() < 0) GiveUp(ready);
  Become(ready);
}

// --- in ours ---

// The errno that the new process gave up with; 0: it has begun. Nothing: no word in time.
std::optional<int> Hear(int told) {
  pollfd word{.fd = told, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&word, 1, kBeginsInMs);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  int error = 0;
  const ssize_t size = read(told, &error, sizeof(error));
  return size == sizeof(error) ? error : 0;
}

}  // namespace

Result<void> Launch(const LaunchPlan& plan) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(Code::kUnavailable, strerror(errno));
  const Fd told(ends[0]);
  Fd teller(ends[1]);
  const Ready ready{Words(plan.argv),  Words(plan.environment), plan.folder.string(),
                    plan.log.string(), plan.mark.string(),      plan.mark.string() + ".new",
                    plan.mark_before,  plan.mark_after,         teller.get()};
  const pid_t pid = fork();
  if (pid < 0) return Fail(Code::kUnavailable, std::string("fork: ") + strerror(errno));
  if (pid == 0) BeginSession(ready);
  teller.Reset();
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  const std::optional<int> error = Hear(told.get());
  if (!error) return Fail(Code::kUnknown, "'" + plan.argv[0] + "' does not begin");
  if (*error != 0) {
    return Fail(Code::kUnavailable, "cannot start '" + plan.argv[0] + "': " + strerror(*error));
  }
  if (access(plan.mark.c_str(), F_OK) != 0) {
    return Fail(Code::kUnavailable, "'" + plan.argv[0] + "' was ended before it began");
  }
  return {};
}

}  // namespace tidemill
