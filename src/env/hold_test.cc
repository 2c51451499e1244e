// SPDX-License-Identifier: Apache-2.0
// The words of hold.h, as a shell takes them.
#include "env/hold.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/fd.h"

namespace tidemill {
namespace {

constexpr int kPatienceMs = 60'000;  // for what must happen; only a failure waits so long

// A folder as an item's scratch, gone with the test. In it is a `sleep` that ends when the test
// says so, not after its time.
class HoldTest : public testing::Test {
 protected:
  HoldTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    setenv("TIDEMILL_SCRATCH", folder_.c_str(), 1);
    setenv("PATH", (folder_ + ":" + usual_).c_str(), 1);
    WriteProgram("sleep", "echo > " + folder_ + "/asleep.$1; read go < " + folder_ + "/go.$1");
    for (const std::string pipe : {"asleep.1", "go.1", "asleep.2", "go.2"}) {
      const std::string path = folder_ + "/" + pipe;
      EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
      // With both ends open nobody waits for the other end.
      pipes_[pipe] = Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    }
  }
  ~HoldTest() override {
    unsetenv("TIDEMILL_SCRATCH");
    setenv("PATH", usual_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  void WriteProgram(const std::string& name, const std::string& script) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), 0755);
  }

  static pid_t Begin(std::vector<std::string> words, int input = -1) {
    words.insert(words.begin(), "/bin/sh");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (input >= 0) ::dup2(input, 0);
      ::setpgid(0, 0);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    return pid;
  }
  // How it ended; -1: it does not end.
  static int End(pid_t pid) {
    const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, kPatienceMs) != 1) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return -1;
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }

  // Waits until a `sleep` of so many seconds has begun.
  void AwaitSleep(const std::string& seconds) {
    const int fd = pipes_["asleep." + seconds].get();
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&readable, 1, kPatienceMs), 1) << "nothing sleeps for " << seconds;
    char newline = 0;
    ASSERT_EQ(::read(fd, &newline, 1), 1);
  }
  // Ends it.
  void Wake(const std::string& seconds) {
    ASSERT_EQ(::write(pipes_["go." + seconds].get(), "\n", 1), 1);
  }

  const std::string usual_ = "/usr/bin:/bin";
  std::string folder_ = "/tmp/tidemill-hold-XXXXXX";
  std::map<std::string, Fd> pipes_;
};

TEST_F(HoldTest, EndsWhenNobodyKeepsIt) {
  const pid_t held = Begin(HoldWords(4));
  for (int i = 0; i < 2; ++i) {
    AwaitSleep("2");
    Wake("2");
  }
  EXPECT_EQ(End(held), 0);
}

TEST_F(HoldTest, IsHeldWhileSomebodyKeepsIt) {
  const pid_t keeper = Begin(KeepWords());
  AwaitSleep("1");
  const pid_t held = Begin(HoldWords(4));
  AwaitSleep("2");
  // A minute. The keeper's step is half of the other's.
  for (int i = 0; i < 30; ++i) {
    for (int second = 0; second < 2; ++second) {
      Wake("1");
      AwaitSleep("1");
    }
    Wake("2");
    AwaitSleep("2");
  }
  ::kill(-keeper, SIGKILL);
  End(keeper);
  Wake("2");
  AwaitSleep("2");
  Wake("2");
  EXPECT_EQ(End(held), 0);
}

TEST_F(HoldTest, TheTokenOfJupyterComesFromOutsideAndIsGoneOnceItIsKnown) {
  WriteProgram("python3", "case $2 in jupyter*) echo $JUPYTER_TOKEN $2 > " + folder_ +
                              "/seen; echo \"$@\" >> " + folder_ + "/seen;; esac");
  const pid_t held = Begin(HeldJupyterWords("/work", 60));
  AwaitSleep("1");  // there is no token yet
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t teller = Begin(TellTokenWords(), pipe[0]);
  EXPECT_EQ(::write(pipe[1], "abc", 3), 3);
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_EQ(End(teller), 0);
  Wake("1");
  EXPECT_EQ(End(held), 0);
  std::ifstream seen(folder_ + "/seen");
  std::string first;
  std::string second;
  std::getline(seen, first);
  std::getline(seen, second);
  EXPECT_EQ(first, "abc jupyterlab");
  EXPECT_NE(second.find("--ServerApp.ip=127.0.0.1"), std::string::npos) << second;
  EXPECT_NE(second.find("--ServerApp.shutdown_no_activity_timeout=60"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/.token"));
}

}  // namespace
}  // namespace tidemill
