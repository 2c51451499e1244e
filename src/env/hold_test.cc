// SPDX-License-Identifier: Apache-2.0
// The words of hold.h, as a shell takes them.
#include "env/hold.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

// A folder as an item's scratch, gone with the test.
class HoldTest : public testing::Test {
 protected:
  HoldTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    setenv("TIDEMILL_SCRATCH", folder_.c_str(), 1);
  }
  ~HoldTest() override {
    unsetenv("TIDEMILL_SCRATCH");
    std::filesystem::remove_all(folder_);
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
  static int End(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }
  static bool IsOver(pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; }

  std::string folder_ = "/tmp/tidemill-hold-XXXXXX";
};

TEST_F(HoldTest, EndsWhenNobodyKeepsIt) {
  const pid_t held = Begin(HoldWords(4));
  EXPECT_EQ(End(held), 0);
}

TEST_F(HoldTest, IsHeldWhileSomebodyKeepsIt) {
  const pid_t keeper = Begin(KeepWords());
  const pid_t held = Begin(HoldWords(4));
  std::this_thread::sleep_for(std::chrono::seconds(9));
  EXPECT_FALSE(IsOver(held));
  ::kill(-keeper, SIGKILL);
  End(keeper);
  EXPECT_EQ(End(held), 0);
}

TEST_F(HoldTest, TheTokenOfJupyterComesFromOutsideAndIsGoneOnceItIsKnown) {
  const std::string program = folder_ + "/python3";
  std::ofstream(program) << "#!/bin/sh\ncase $2 in jupyter*) echo $JUPYTER_TOKEN $2 > " << folder_
                         << "/seen; echo \"$@\" >> " << folder_ << "/seen;; esac\n";
  ::chmod(program.c_str(), 0755);
  const std::string usual = "/usr/bin:/bin";
  setenv("PATH", (folder_ + ":" + usual).c_str(), 1);
  const pid_t held = Begin(HeldJupyterWords("/work", 60));
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t teller = Begin(TellTokenWords(), pipe[0]);
  EXPECT_EQ(::write(pipe[1], "abc", 3), 3);
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_EQ(End(teller), 0);
  EXPECT_EQ(End(held), 0);
  setenv("PATH", usual.c_str(), 1);
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
