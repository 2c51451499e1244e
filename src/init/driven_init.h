// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "frame/frame.h"
#include "init/clocks.h"

// For tests: the real tidemill-init, driven as an agent does.
namespace tidemill::init {

inline constexpr int kPatienceMs = 60'000;  // for what must happen; only a failure waits so long
inline constexpr std::int64_t kSecond = 1'000'000;  // in microseconds, as frames count
inline constexpr uid_t kNobody = 65534;
inline constexpr const char* kBusybox = "/bin/busybox";
extern const std::string kInitProgram, kLoopProbe;

// A folder that is gone with it.
class TempFolder {
 public:
  TempFolder() {
    path_ = (std::filesystem::temp_directory_path() / "tidemill-init-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What init said of a run.
struct Told {
  std::uint64_t number = 0;
  std::string log;
  frame::End end;
};

struct Times {
  std::int64_t timeout_us = 0;
  std::int64_t grace_us = 0;
};

struct InitOptions {
  bool first_process = false;  // PID 1 of a namespace of its own
  std::string root = "";       // what it is chroot-ed to; it must hold /tidemill-init and /scratch
  uid_t user = 0;
  bool secrets = false;  // it has a folder for them; in a root of its own, /secrets
  int send_bytes = 0;    // that its socket takes while nobody reads; 0: what the system says
};
using Files = std::vector<std::pair<std::string, std::string>>;  // by name

// How many processes of this machine have the text in their command line.
inline int Alive(const std::string& text) {
  int alive = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int file = open((entry.path() / "cmdline").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    std::string line(4096, '\0');
    const ssize_t size = read(file, line.data(), line.size());
    close(file);
    if (size > 0 && line.find(text) != std::string::npos) ++alive;
  }
  return alive;
}

// Seconds for a sleep that no other process of this machine sleeps.
inline std::string UniqueSleep() {
  static int count = 0;
  return std::to_string(900'000'000LL + getpid() % 100'000 * 1'000LL + ++count);
}

// Waits until `is_true`, which nothing announces; false: it was not so within kPatienceMs.
inline bool Becomes(const std::function<bool()>& is_true) {
  const std::int64_t limit_us = NowUs() + std::int64_t{kPatienceMs} * 1000;
  while (!is_true()) {
    if (NowUs() >= limit_us) return is_true();
    poll(nullptr, 0, 5);
  }
  return true;
}

// Waits for the end of a child, which is still to be reaped; false: it has not come in time.
inline bool HasEnded(pid_t pid) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  const int ready = poll(&ended, 1, kPatienceMs);
  close(pidfd);
  return ready == 1;
}

class DrivenInit {
 public:
  explicit DrivenInit(const InitOptions& options = {}) : options_(options) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    socket_ = ends[0];
    const int bytes = options.send_bytes;
    if (bytes > 0 && setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) != 0) {
      std::abort();
    }
    scratch_path_ = options.root.empty() ? folder_.path() : "/scratch";
    secrets_path_ = options.root.empty() ? secrets_.path() : "/secrets";
    // A mode and an owner that let the item's user write there.
    if (options.user != 0 && chown(folder_.path().c_str(), options.user, options.user) != 0) {
      std::abort();
    }
    if (chmod(secrets_.path().c_str(), 01777) != 0) std::abort();
    pid_ = Fork();
    if (pid_ == 0) Become(ends[1]);
    close(ends[1]);
  }
  // Lets init end by itself, so that a test that fails leaves no item behind.
  ~DrivenInit() {
    if (socket_ >= 0) close(socket_);
    if (pid_ <= 0) return;
    if (!HasEnded(pid_)) kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  DrivenInit(const DrivenInit&) = delete;
  DrivenInit& operator=(const DrivenInit&) = delete;

  pid_t pid() const { return pid_; }
  int socket() const { return socket_; }
  std::string scratch() const { return scratch_path_; }
  std::string secrets() const { return secrets_path_; }

  void Run(std::uint64_t number, const std::vector<std::string>& argv, Times times = {},
           const std::vector<std::string>& env = {}, const Files& secret_files = {}) {
    frame::Run run{.timeout_us = times.timeout_us, .grace_us = times.grace_us};
    run.argv.assign(argv.begin(), argv.end());
    run.env.assign(env.begin(), env.end());
    for (const auto& [name, content] : secret_files) run.secret_files.push_back({name, content});
    Send(*frame::EncodeRun(number, run));
  }
  void RunShell(std::uint64_t number, const std::string& script, Times times = {},
                const Files& secret_files = {}) {
    Run(number, {kBusybox, "sh", "-c", script, "sh", scratch_path_}, times, {}, secret_files);
  }
  void Stop(std::uint64_t number) { Send(frame::EncodeStop(number)); }

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size < 0) return;  // init is gone, which the test sees by itself
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  // Reads until a run wrote this text. What was read is part of the next Told.
  void AwaitLog(const std::string& text) {
    while (told_.log.find(text) == std::string::npos) {
      const auto got = NextFrame();
      ASSERT_TRUE(got) << "no frame, and no " << text << " in: " << told_.log;
      ASSERT_EQ(got->kind, frame::Kind::kLog);
      Keep(*got);
    }
  }

  // What the run wrote, as far as it was read.
  const std::string& log() const { return told_.log; }

  // Reads up to the next End.
  Told Take() {
    while (const auto got = NextFrame()) {
      Keep(*got);
      if (got->kind != frame::Kind::kEnd) continue;
      const auto end = frame::DecodeEnd(got->payload);
      EXPECT_TRUE(end.has_value());
      told_.number = got->number;
      told_.end = end.value_or(frame::End{});
      return std::exchange(told_, {});
    }
    ADD_FAILURE() << "init says no more";
    return {};
  }

  void CloseSocket() { close(std::exchange(socket_, -1)); }

  // Waits for its end. The exit code, or minus the signal.
  int AwaitExit() {
    if (!HasEnded(pid_)) {
      ADD_FAILURE() << "init does not end";
      return -1000;
    }
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Takes all that is there, while init stands still.
  void TakeAllAtOnce() {
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
    std::vector<char> bytes(1 << 20);
    ssize_t size = 0;
    while ((size = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
      reader_.Feed({bytes.data(), static_cast<std::size_t>(size)});
    }
    kill(pid_, SIGCONT);
  }

  // False: nothing came and nothing will.
  bool Receive() {
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, kPatienceMs) != 1) return false;
    std::vector<char> bytes(1 << 16);
    const ssize_t size = recv(socket_, bytes.data(), bytes.size(), 0);
    if (size <= 0) return false;
    reader_.Feed({bytes.data(), static_cast<std::size_t>(size)});
    return true;
  }

  std::optional<frame::Frame> NextFrame() {
    while (true) {
      auto got = reader_.Next();
      if (got && got->kind == frame::Kind::kHello) {
        EXPECT_EQ(frame::DecodeHello(got->payload), frame::Hello{});
        EXPECT_FALSE(std::exchange(greeted_, true));
        continue;
      }
      if (got) {
        EXPECT_TRUE(greeted_);
        if (got->kind == frame::Kind::kEnd) Send(frame::EncodeHeard(got->number));
        return got;
      }
      EXPECT_FALSE(reader_.broken());
      if (!Receive()) return std::nullopt;
    }
  }

 private:
  pid_t Fork() const {
    if (!options_.first_process) return fork();
    return static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
  }

  // In the child.
  [[noreturn]] void Become(int socket) {
    fcntl(socket, F_SETFD, 0);
    if (!options_.root.empty() && (chroot(options_.root.c_str()) != 0 || chdir("/") != 0))
      _exit(99);
    if (options_.user != 0 &&
        (setgroups(0, nullptr) != 0 || setgid(options_.user) != 0 || setuid(options_.user) != 0)) {
      _exit(98);
    }
    setenv("OWN", "from init", 1);
    const std::string program = options_.root.empty() ? kInitProgram : "/tidemill-init";
    const char* secrets = options_.secrets ? "--secrets" : nullptr;
    execl(program.c_str(), "tidemill-init", "--fd", std::to_string(socket).c_str(), "--scratch",
          scratch_path_.c_str(), secrets, secrets_path_.c_str(), nullptr);
    _exit(97);
  }

  void Keep(const frame::Frame& got) {
    if (got.kind != frame::Kind::kLog) return;
    EXPECT_TRUE(told_.log.empty() || told_.number == got.number);
    told_.number = got.number;
    told_.log += got.payload;
  }

  const InitOptions options_;
  const TempFolder folder_;
  const TempFolder secrets_;
  std::string scratch_path_;
  std::string secrets_path_;
  int socket_ = -1;
  pid_t pid_ = 0;
  bool greeted_ = false;
  Told told_;
  frame::Reader reader_{frame::Reader::Side::kAgent};
};

}  // namespace tidemill::init
