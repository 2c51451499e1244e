// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "init/exit.h"
#include "init/leftovers.h"
#include "init/loop.h"
#include "init/scratch.h"
#include "init/secrets.h"

// tidemill-init: runs items for an agent, as PID 1 of a container or as a plain process.
namespace tidemill::init {
namespace {

constexpr char kUsage[] =
    "usage: tidemill-init (--socket PATH | --fd N) --scratch DIR [--secrets DIR] [--away SECONDS]";
// The agent listens before it starts us; a full backlog is short.
constexpr int kConnectSeconds = 10;
// How long items go on without an agent: an upgrade takes seconds, and a session is over sooner.
constexpr int kAwaySeconds = 600;
// Old kernels cannot close all descriptors at once. The agent's own close at exec anyway.
constexpr int kDescriptorsToTry = 4096;

struct Arguments {
  const char* socket_path = nullptr;
  int fd = -1;
  const char* scratch = nullptr;
  const char* secrets = nullptr;
  int away_seconds = kAwaySeconds;
};

// Above `least`.
std::optional<int> ParseNumber(std::string_view text, int least) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number <= least) return std::nullopt;
  return number;
}

Arguments ParseArguments(int argc, char** argv) {
  Arguments arguments;
  bool good = argc % 2 == 1;
  for (int i = 1; good && i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--socket" && arguments.socket_path == nullptr) {
      arguments.socket_path = argv[i + 1];
    } else if (name == "--scratch" && arguments.scratch == nullptr) {
      arguments.scratch = argv[i + 1];
    } else if (name == "--secrets" && arguments.secrets == nullptr) {
      arguments.secrets = argv[i + 1];
    } else if (name == "--fd" && arguments.fd < 0) {
      const auto number = ParseNumber(argv[i + 1], STDERR_FILENO);
      good = number.has_value();
      arguments.fd = number.value_or(-1);
    } else if (name == "--away") {
      const auto number = ParseNumber(argv[i + 1], 0);
      good = number.has_value();
      arguments.away_seconds = number.value_or(kAwaySeconds);
    } else {
      good = false;
    }
  }
  const bool one_way = (arguments.socket_path != nullptr) != (arguments.fd >= 0);
  if (!good || !one_way || arguments.scratch == nullptr) Die(kExitUsage, kUsage, 0);
  return arguments;
}

// Items inherit stdin as it is. Where there is no /dev/null, a pipe that nobody writes to is as
// empty.
void SetUpStdio() {
  int empty = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (empty < 0) {
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) Die(kExitMachine, "cannot make a pipe", errno);
    close(pipe[1]);
    empty = pipe[0];
  }
  if (empty == STDIN_FILENO) {
    fcntl(empty, F_SETFD, 0);
  } else if (dup2(empty, STDIN_FILENO) < 0) {
    Die(kExitMachine, "cannot set stdin", errno);
  }
  // Else a pipe to an item could get these numbers.
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) dup2(STDIN_FILENO, fd);
  }
}

void CloseOthersAtExec() {
  if (syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = STDERR_FILENO + 1; fd < kDescriptorsToTry; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// All signals have their default action, so that items have it too, and all are blocked: SIGCHLD
// and SIGTERM are read from the descriptor that is returned, the others never reach us.
int SetUpSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);  // SIGKILL and SIGSTOP refuse
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGCHLD);
  sigaddset(&ours, SIGTERM);
  const int signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) Die(kExitMachine, "cannot make a signalfd", errno);
  return signals;
}

int Connect(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof(address.sun_path)) Die(kExitUsage, "the path is too long", 0);
  strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) Die(kExitMachine, "cannot make a socket", errno);
  const timeval patience{.tv_sec = kConnectSeconds, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    Die(kExitMachine, "cannot reach the agent; a container is started by tidemill-agent", errno);
  }
  return fd;
}

int Inherited(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    Die(kExitMachine, "--fd names no socket", errno);
  }
  return fd;
}

int Main(int argc, char** argv) {
  // Items are the same user: they may neither trace us, nor open our descriptors, nor read our
  // memory, through which their secrets come. Nor does a crash write it to a disk.
  prctl(PR_SET_DUMPABLE, 0);
  SetUpStdio();
  const Arguments arguments = ParseArguments(argc, argv);
  CloseOthersAtExec();
  const int signals = SetUpSignals();
  const bool first_process = getpid() == 1;
  if (!first_process && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    Die(kExitMachine, "cannot become the parent of orphans", errno);
  }
  if (!Leftovers(first_process).Works()) {
    Die(kExitMachine, "the kernel does not list children in /proc", errno);
  }
  Scratch scratch(arguments.scratch);
  if (const int error = scratch.Open(); error != 0) {
    Die(kExitMachine, "cannot open the scratch folder", error);
  }
  Secrets secrets(arguments.secrets);
  if (const int error = secrets.Open(); error != 0) {
    Die(kExitMachine, "cannot open the folder for secrets", error);
  }
  const int socket = arguments.fd >= 0 ? Inherited(arguments.fd) : Connect(arguments.socket_path);
  Loop loop({.socket = socket,
             .socket_path = arguments.socket_path,
             .signals = signals,
             .first_process = first_process,
             .away_us = std::int64_t{arguments.away_seconds} * 1'000'000},
            scratch, secrets);
  return loop.Run();
}

}  // namespace
}  // namespace tidemill::init

int main(int argc, char** argv) { return tidemill::init::Main(argc, argv); }
