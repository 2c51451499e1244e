// SPDX-License-Identifier: Apache-2.0
#include "cli/child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace tidemill::cli {
namespace {

constexpr std::uint64_t kTailBytes = 64 << 10;

// What the new process does before it becomes the program. All of it is made before the fork, since
// after it only system calls are allowed.
struct ChildSteps {
  std::vector<char*> words;
  int log = -1;
  int input = -1;
  int output = -1;
  int report = -1;  // takes errno if the program cannot be run; closed by its success
  pid_t parent = 0;
  int signal_if_we_die = 0;
  const Account* account = nullptr;
  const char* folder = "/";
};

[[noreturn]] void Become(const ChildSteps& steps) {
  const auto give_up = [&] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(steps.report, &error, sizeof error);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGHUP}) ::signal(number, SIG_DFL);
  if (::dup2(steps.input, 0) < 0 || ::dup2(steps.output, 1) < 0 || ::dup2(steps.log, 2) < 0) {
    give_up();
  }
  if (steps.account != nullptr) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(steps.account->gid) != 0 ||
        ::setuid(steps.account->uid) != 0) {
      give_up();
    }
  }
  // After the change of user, which would undo it.
  if (::prctl(PR_SET_PDEATHSIG, steps.signal_if_we_die) != 0) give_up();
  if (::getppid() != steps.parent) ::_exit(127);  // we died before the kernel was told
  if (::chdir(steps.folder) != 0) give_up();
  // Sockets of libraries are not closed by exec. An old kernel that cannot do it only leaks them.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(steps.words[0], steps.words.data());
  give_up();
  ::_exit(127);
}

tl::unexpected<Error> SystemError(const std::string& doing) {
  return Fail(Code::kInternal, doing + ": " + std::strerror(errno));
}

std::string StatusText(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<Child> Child::Start(const ChildPlan& plan) {
  const Fd log(::open(plan.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log) return SystemError("open " + plan.log.string());
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return SystemError("open /dev/null");
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return SystemError("make a pipe");
  const Fd reader(pipe[0]);
  Fd writer(pipe[1]);

  ChildSteps steps;
  std::vector<std::string> words = plan.command;
  for (std::string& word : words) steps.words.push_back(word.data());
  steps.words.push_back(nullptr);
  steps.log = log.get();
  steps.input = plan.input < 0 ? nothing.get() : plan.input;
  steps.output = plan.output < 0 ? log.get() : plan.output;
  steps.report = writer.get();
  steps.parent = ::getpid();
  steps.signal_if_we_die = plan.signal_if_we_die;
  steps.account = plan.account ? &*plan.account : nullptr;
  steps.folder = plan.folder.c_str();

  const pid_t pid = ::fork();
  if (pid < 0) return SystemError("start " + plan.command[0]);
  if (pid == 0) Become(steps);
  writer.Reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(reader.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(pid, nullptr, 0);
    errno = error;
    return SystemError("run " + plan.command[0]);
  }
  return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)), status_(other.status_) {}

Child::~Child() {
  if (pid_ == 0 || status_) return;
  Kill();
  ::waitpid(pid_, nullptr, 0);
}

std::optional<std::string> Child::Ended() {
  if (!status_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    status_ = status;
  }
  return StatusText(*status_);
}

void Child::Signal(int number) {
  if (pid_ == 0 || status_) return;
  ::kill(pid_, number);
}

void Child::Kill() {
  if (pid_ == 0 || status_) return;
  // The group may not exist yet if the child was slower than we are.
  if (::kill(-pid_, SIGKILL) != 0) ::kill(pid_, SIGKILL);
}

std::optional<std::filesystem::path> FindProgram(const std::string& name,
                                                 const std::vector<std::filesystem::path>& folders,
                                                 const std::string& path) {
  std::vector<std::filesystem::path> places = folders;
  std::istringstream rest(path);
  for (std::string folder; std::getline(rest, folder, ':');) {
    if (!folder.empty()) places.emplace_back(folder);
  }
  for (const auto& place : places) {
    std::error_code error;
    const auto program = place / name;
    if (std::filesystem::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return std::nullopt;
}

std::optional<Account> FindAccount(const std::string& name) {
  // Not by getpwnam, which loads libraries that a static program does not have.
  std::ifstream file("/etc/passwd");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string user;
    std::string skipped;
    std::string uid;
    std::string gid;
    std::getline(fields, user, ':');
    std::getline(fields, skipped, ':');
    std::getline(fields, uid, ':');
    std::getline(fields, gid, ':');
    if (user != name || uid.empty() || gid.empty()) continue;
    return Account{name, static_cast<uid_t>(std::strtoul(uid.c_str(), nullptr, 10)),
                   static_cast<gid_t>(std::strtoul(gid.c_str(), nullptr, 10))};
  }
  return std::nullopt;
}

std::string LastLines(const std::filesystem::path& path, std::uint64_t from, int lines) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::uint64_t>(file.tellg());
  const std::uint64_t begin = std::max(from, size > kTailBytes ? size - kTailBytes : 0);
  if (begin >= size) return {};
  std::string text(size - begin, '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  while (text.ends_with('\n')) text.pop_back();
  std::size_t at = text.size();
  for (int line = 0; line < lines && at != std::string::npos && at > 0; ++line) {
    at = text.rfind('\n', at - 1);
  }
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

}  // namespace tidemill::cli
