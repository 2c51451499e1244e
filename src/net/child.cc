// SPDX-License-Identifier: Apache-2.0
#include "net/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/check.h"
#include "net/asio_loop_impl.h"

namespace tidemill {
namespace {

using boost::asio::posix::stream_descriptor;

// Gives the pid, or the negative errno.
pid_t Spawn(std::vector<std::string>& argv, int fd, const std::string& folder) {
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  TIDEMILL_CHECK(posix_spawn_file_actions_init(&files) == 0);
  TIDEMILL_CHECK(posix_spawnattr_init(&attributes) == 0);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, fd, kChildFd);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  // The sockets of asio are not close-on-exec.
  posix_spawn_file_actions_addclosefrom_np(&files, kChildFd + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);  // a Ctrl-C is for us alone
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, words[0], &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -error;
}

}  // namespace

struct Child::Impl : std::enable_shared_from_this<Child::Impl> {
  Impl(AsioLoop& loop, pid_t a_pid, int pidfd, OnExit call)
      : pid(a_pid), watch(loop.impl().io, pidfd), on_exit(std::move(call)) {}

  void Wait() {
    watch.async_wait(stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       if (!self->on_exit) return;
                       if (!self->Reap()) return self->Wait();
                       std::exchange(self->on_exit, nullptr)(self->status);
                     });
  }

  // True if it has ended, now or before.
  bool Reap() {
    while (!reaped) {
      const pid_t got = waitpid(pid, &status, WNOHANG);
      if (got == 0) return false;
      if (got < 0 && errno == EINTR) continue;
      // Somebody else may wait for all children of the process; it has ended all the same.
      reaped = true;
    }
    return true;
  }

  bool WaitFor(int timeout_ms) {
    pollfd ended{.fd = watch.native_handle(), .events = POLLIN, .revents = 0};
    if (!reaped) poll(&ended, 1, timeout_ms);
    return Reap();
  }

  const pid_t pid;
  stream_descriptor watch;  // a pidfd: readable when it has ended
  OnExit on_exit;
  int status = 0;
  bool reaped = false;
};

Child::Child(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->Wait(); }

Child::~Child() {
  impl_->on_exit = nullptr;
  // Not a wait without end: one that cannot even be killed hangs in the kernel.
  constexpr int kKilledInMs = 5'000;
  Kill();
  impl_->WaitFor(kKilledInMs);
  boost::system::error_code ignored;
  impl_->watch.close(ignored);
}

Result<std::unique_ptr<Child>> Child::Start(AsioLoop& loop, std::vector<std::string> argv, Fd fd,
                                            OnExit on_exit, const std::string& folder) {
  TIDEMILL_CHECK(!argv.empty());
  // dup2 of a descriptor onto itself would leave it close-on-exec.
  if (fd.get() == kChildFd) fd.Reset(fcntl(kChildFd, F_DUPFD_CLOEXEC, kChildFd + 1));
  const pid_t pid = Spawn(argv, fd.get(), folder);
  if (pid < 0) {
    return Fail(Code::kUnavailable, "cannot start '" + argv[0] + "': " + strerror(-pid));
  }
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) {
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return Fail(Code::kUnavailable, std::string("pidfd_open: ") + strerror(error));
  }
  auto impl = std::make_shared<Impl>(loop, pid, pidfd, std::move(on_exit));
  return std::unique_ptr<Child>(new Child(std::move(impl)));
}

pid_t Child::pid() const { return impl_->pid; }

void Child::Kill() {
  if (!impl_->reaped) kill(impl_->pid, SIGKILL);
}

bool Child::WaitFor(Duration at_most) {
  using std::chrono::milliseconds;
  return impl_->WaitFor(
      static_cast<int>(std::chrono::duration_cast<milliseconds>(at_most).count()));
}

std::string DescribeExit(int status) {
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

}  // namespace tidemill
