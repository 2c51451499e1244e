// SPDX-License-Identifier: Apache-2.0
#include "cdi/run_for_text.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/fd.h"

namespace tidemill {
namespace {

tl::unexpected<Error> Failed(std::string_view what, int number) {
  return Fail(Code::kUnavailable, std::string(what) + ": " + std::strerror(number));
}

Result<pid_t> Start(const std::vector<std::string>& argv, int out) {
  static constexpr std::array kEnvironment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  std::vector<char*> arguments;
  for (const std::string& one : argv) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  std::array<char*, kEnvironment.size() + 1> environment = {};
  for (std::size_t i = 0; i < kEnvironment.size(); ++i) {
    environment[i] = const_cast<char*>(kEnvironment[i]);
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, arguments.front(), &files, &attributes, arguments.data(),
                                environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return Failed("cannot be started", error);
  return pid;
}

// Until its output is at its end and it has ended. It is not yet waited for.
Result<std::string> Listen(int out, int ended, int timer) {
  std::string text;
  bool is_open = true;
  while (true) {
    std::array<pollfd, 2> polled = {pollfd{timer, POLLIN, 0},
                                    pollfd{is_open ? out : ended, POLLIN, 0}};
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return Failed("poll", errno);
    if (polled[0].revents != 0) return Fail(Code::kUnavailable, "takes too long");
    if (polled[1].revents == 0) continue;
    if (!is_open) return text;
    std::array<char, 4096> some;
    const ssize_t size = read(out, some.data(), some.size());
    if (size < 0 && errno != EINTR) return Failed("read", errno);
    if (size > 0) text.append(some.data(), static_cast<std::size_t>(size));
    if (text.size() > kToolBytes) return Fail(Code::kUnavailable, "says too much");
    is_open = size != 0;
  }
}

}  // namespace

Result<std::string> RunForText(const std::vector<std::string>& argv,
                               std::chrono::milliseconds at_most) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed("pipe", errno);
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const Fd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec when = {};
  when.it_value.tv_sec = at_most.count() / 1000;
  when.it_value.tv_nsec = at_most.count() % 1000 * 1'000'000;
  if (!timer || timerfd_settime(timer.get(), 0, &when, nullptr) != 0) return Failed("timer", errno);
  TIDEMILL_TRY(const pid_t pid, Start(argv, in.get()));
  in.Reset();
  const Fd ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  auto text = ended ? Listen(out.get(), ended.get(), timer.get())
                    : Result<std::string>(Failed("pidfd_open", errno));
  // Also what it left behind.
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (text && status != 0) {
    return Fail(Code::kUnavailable, WIFEXITED(status)
                                        ? "exit code " + std::to_string(WEXITSTATUS(status))
                                        : "signal " + std::to_string(WTERMSIG(status)));
  }
  return text;
}

}  // namespace tidemill
