// SPDX-License-Identifier: Apache-2.0
#include "cli/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/supervisor.h"

namespace tidemill::cli {
namespace {

class ChildTest : public testing::Test {
 protected:
  ChildTest() : folder_(std::filesystem::path(testing::TempDir()) / "tidemill_child") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ChildTest() override { std::filesystem::remove_all(folder_); }

  ChildPlan Shell(const std::string& script) const {
    return {.command = {"/bin/sh", "-c", script}, .log = folder_ / "log"};
  }
  std::string Log() const {
    std::ifstream file(folder_ / "log");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const std::filesystem::path folder_;
  AsioLoop loop_;
};

TEST_F(ChildTest, RunsAProgramAndKeepsWhatItSays) {
  Supervisor supervisor(loop_);
  ASSERT_TRUE(supervisor.RunToEnd(Shell("echo out; echo err >&2"), std::chrono::seconds(30)));
  EXPECT_EQ(Log(), "out\nerr\n");
  const auto failed = supervisor.RunToEnd(Shell("exit 3"), std::chrono::seconds(30));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, "exit 3");
}

TEST_F(ChildTest, SaysThatAProgramCannotBeRun) {
  const auto child = Child::Start({.command = {"/nonexistent"}, .log = folder_ / "log"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().reason, "run /nonexistent: No such file or directory");
}

TEST_F(ChildTest, IsInAGroupOfItsOwnWithNothingToRead) {
  Supervisor supervisor(loop_);
  ASSERT_TRUE(
      supervisor.RunToEnd(Shell("cat; ps -o pgid= -p $$; echo $$"), std::chrono::seconds(30)));
  std::istringstream words(Log());
  int group = 0;
  int pid = 0;
  words >> group >> pid;
  EXPECT_EQ(group, pid);
  EXPECT_NE(group, ::getpgrp());
}

TEST_F(ChildTest, IsKilledWithItsGroupWhenItsObjectGoes) {
  pid_t pid = 0;
  {
    auto child = Child::Start(Shell("sleep 1000 & sleep 1000"));
    ASSERT_TRUE(child) << child.error().reason;
    pid = child->pid();
    EXPECT_FALSE(child->Ended());
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(ChildTest, IsToldByTheKernelWhenWeDie) {
  // A process in between, which is killed as a terminal's end or a kill -9 would.
  const pid_t between = ::fork();
  ASSERT_GE(between, 0);
  if (between == 0) {
    const auto child =
        Child::Start(Shell("trap 'echo told; exit' USR1; echo $$; while :; do sleep 0.05; done"));
    if (!child) ::_exit(1);
    while (true) ::pause();
  }
  Supervisor supervisor(loop_);
  ASSERT_TRUE(
      supervisor.WaitUntil([&] { return Log().ends_with('\n'); }, std::chrono::seconds(30)));
  const pid_t child = static_cast<pid_t>(std::stoi(Log()));
  ::kill(between, SIGKILL);
  ::waitpid(between, nullptr, 0);
  // It is the child of init now: gone, or a zombie until somebody waits for it.
  const auto is_gone = [child] {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t end = text.rfind(')');
    return end == std::string::npos || text[end + 2] == 'Z';
  };
  EXPECT_TRUE(supervisor.WaitUntil(is_gone, std::chrono::seconds(30)));
}

TEST_F(ChildTest, SupervisorStopsTheLastFirstAndKillsWhoStays) {
  Supervisor supervisor(loop_);
  const std::string script = "trap 'echo NAME; exit 0' TERM; echo up; while :; do sleep 0.05; done";
  const auto start = [&](const std::string& name, const std::string& text) {
    ChildPlan plan = Shell(text);
    std::string& line = plan.command[2];
    if (const auto at = line.find("NAME"); at != std::string::npos) line.replace(at, 4, name);
    return supervisor.Start({.name = name, .plan = plan, .stop_time = std::chrono::seconds(1)});
  };
  const auto lines = [&] {
    const std::string log = Log();
    return std::count(log.begin(), log.end(), '\n');
  };
  ASSERT_TRUE(start("first", script));
  ASSERT_TRUE(start("second", script));
  ASSERT_TRUE(start("stays", "trap '' TERM; echo up; while :; do sleep 0.05; done"));
  ASSERT_TRUE(supervisor.WaitUntil([&] { return lines() == 3; }, std::chrono::seconds(30)));
  EXPECT_FALSE(supervisor.FindEnded());
  EXPECT_FALSE(supervisor.StopAll());
  EXPECT_EQ(Log(), "up\nup\nup\nsecond\nfirst\n");
}

TEST_F(ChildTest, SupervisorNamesTheOneThatHasEnded) {
  Supervisor supervisor(loop_);
  std::ofstream(folder_ / "log") << "of the last time\n";
  ASSERT_TRUE(supervisor.Start({.name = "the server", .plan = Shell("echo why; kill -9 $$")}));
  const auto waited = supervisor.WaitUntil([] { return false; }, std::chrono::seconds(30));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Code::kLost);
  const auto ended = supervisor.FindEnded();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->name, "the server");
  EXPECT_EQ(ended->how, "signal 9");
  EXPECT_EQ(LastLines(ended->log, ended->log_from, 10), "why");
}

TEST_F(ChildTest, FindsProgramsInOrder) {
  std::ofstream(folder_ / "prog") << "#!/bin/sh\n";
  EXPECT_FALSE(FindProgram("prog", {folder_}, "/usr/bin"));  // nobody may run it
  std::filesystem::permissions(folder_ / "prog", std::filesystem::perms::owner_all);
  EXPECT_EQ(FindProgram("prog", {folder_}, ""), folder_ / "prog");
  EXPECT_EQ(FindProgram("prog", {}, "/nonexistent::" + folder_.string()), folder_ / "prog");
  EXPECT_FALSE(FindProgram("prog", {}, ""));
}

TEST_F(ChildTest, ShowsTheLastLines) {
  std::ofstream(folder_ / "log") << "one\ntwo\nthree\n\n";
  EXPECT_EQ(LastLines(folder_ / "log", 0, 2), "two\nthree");
  EXPECT_EQ(LastLines(folder_ / "log", 0, 9), "one\ntwo\nthree");
  EXPECT_EQ(LastLines(folder_ / "log", 8, 9), "three");
  EXPECT_EQ(LastLines(folder_ / "none", 0, 9), "");
}

TEST(FindAccount, KnowsRootAndNotNobodyElse) {
  ASSERT_TRUE(FindAccount("root"));
  EXPECT_EQ(FindAccount("root")->uid, 0u);
  EXPECT_FALSE(FindAccount("nobody-has-this-name"));
}

}  // namespace
}  // namespace tidemill::cli
