// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine promises besides, if its items are processes that /proc shows. Shells are at
// /bin/sh.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/engine_testing.h"

namespace tidemill {

class RealEngineTest : public EngineTest {
 protected:
  // A word that only processes of this test have in their command line.
  RealEngineTest() : mark_("mark-" + std::to_string(getpid()) + "-" + folder_.substr(20)) {}

  ItemRun Shell(std::uint64_t number, const std::string& script) {
    ItemRun run = ItemOf(number, {});
    run.entrypoint = std::vector<std::string>{"/bin/sh", "-c", script, mark_};
    run.command = std::nullopt;
    return run;
  }
  std::vector<pid_t> Marked() const {
    std::vector<pid_t> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
      const std::string name = each.path().filename();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      const std::string line = Read(each.path() / "cmdline");
      if (line.find(mark_) != line.npos) found.push_back(std::stoi(name));
    }
    return found;
  }
  // Empty if the process is gone.
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text, '\xff');
    return text;
  }
  static pid_t ParentOf(pid_t pid) {
    const std::string line = Read("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t end = line.rfind(')');
    return end == line.npos ? 0 : std::stoi(line.substr(end + 4));
  }
  // A shell that has just forked is there twice.
  void RunUntilMarked() {
    holder().RunUntil([&] { return !Marked().empty(); });
  }
  void RunUntilNoneIsMarked() {
    holder().RunUntil([&] { return Marked().empty(); });
    EXPECT_TRUE(Marked().empty());
  }
  // The parent of the first of them.
  pid_t Init() {
    const auto marked = Marked();
    for (const pid_t pid : marked) {
      const pid_t parent = ParentOf(pid);
      if (std::find(marked.begin(), marked.end(), parent) == marked.end()) return parent;
    }
    return 0;
  }
  std::size_t FoldersLeft() const {
    std::error_code error;
    const std::filesystem::directory_iterator each(folder_ + "/containers", error);
    return error ? 0 : static_cast<std::size_t>(std::distance(begin(each), end(each)));
  }
  const std::string& LogOf(std::uint64_t number) { return events_.logs[number]; }

  const std::string mark_;
};

TEST_P(RealEngineTest, GivesItemsTheirEnvironmentAndAScratchFolderThatIsEmptied) {
  Open();
  ItemRun run = Shell(1, "echo $A-$B; cd $TIDEMILL_SCRATCH && echo x > file && ls");
  run.env = {"A=a b", "B=", "C"};
  run.env.pop_back();
  container_->Run(run);
  container_->Run(Shell(2, "ls -A $TIDEMILL_SCRATCH; echo $A."));
  RunUntilEnds(2);
  EXPECT_EQ(LogOf(1), "a b-\nfile\n");
  EXPECT_EQ(LogOf(2), ".\n");
}

TEST_P(RealEngineTest, KeepsTheOrderOfALongLog) {
  Open();
  container_->Run(Shell(1, "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done"));
  RunUntilEnds(1);
  std::string expected;
  for (int i = 0; i < 20000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_TRUE(LogOf(1) == expected) << LogOf(1).size() << " bytes of " << expected.size();
}

TEST_P(RealEngineTest, SaysWhatCannotBeRunAndGoesOn) {
  Open();
  ItemRun none = Shell(1, "");
  none.entrypoint = std::vector<std::string>{"no-such-program"};
  container_->Run(none);
  none.number = 2;
  none.entrypoint = std::vector<std::string>{"/etc/passwd"};
  container_->Run(none);
  none.number = 3;
  none.entrypoint = std::vector<std::string>{"/bin/sh", std::string(2'000'000, 'x')};
  container_->Run(none);
  none.number = 4;
  none.entrypoint = std::vector<std::string>{std::string("a\0b", 3)};
  container_->Run(none);
  container_->Run(Shell(5, "exit 9"));
  RunUntilEnds(5);
  EXPECT_EQ(Exits(), (std::vector<int>{127, 126, 126, 126, 9}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(events_.ends[i].how, ItemEnd::How::kNotStarted);
  EXPECT_EQ(LogOf(1), "tidemill: cannot run 'no-such-program': No such file or directory\n");
  EXPECT_EQ(LogOf(2), "tidemill: cannot run '/etc/passwd': Permission denied\n");
  EXPECT_NE(LogOf(3).find("longer than"), std::string::npos);
  EXPECT_NE(LogOf(4).find("NUL"), std::string::npos);
}

TEST_P(RealEngineTest, TellsSignalsFromExits) {
  Open();
  container_->Run(Shell(1, "kill -9 $$"));
  container_->Run(Shell(2, "exit 137"));
  RunUntilEnds(2);
  EXPECT_EQ(Exits(), (std::vector<int>{137, 137}));
  EXPECT_EQ(events_.ends[0].how, ItemEnd::How::kSignalled);
  EXPECT_EQ(events_.ends[1].how, ItemEnd::How::kExited);
}

TEST_P(RealEngineTest, KillsWhatARunLeavesBehindAndWhatHeedsNoSignal) {
  Open();
  container_->Run(Shell(1, "sleep 1000 & exit 0"));
  RunUntilEnds(1);
  RunUntilNoneIsMarked();
  ItemRun deaf = Shell(2, "trap '' TERM; while :; do sleep 0.05; done");
  deaf.grace = std::chrono::milliseconds(100);
  container_->Run(deaf);
  RunUntilMarked();
  container_->Stop(2);
  RunUntilEnds(2);
  EXPECT_EQ(events_.ends[1].how, ItemEnd::How::kStopped);
  RunUntilNoneIsMarked();
}

TEST_P(RealEngineTest, MeasuresMemoryAndTime) {
  Open();
  container_->Run(Shell(1, "x=$(printf '%020000000d' 1); sleep 0.1"));
  container_->Run(Shell(2, "true"));
  RunUntilEnds(2);
  EXPECT_GT(events_.ends[0].memory_bytes, 20'000'000);
  EXPECT_LT(events_.ends[1].memory_bytes, 15'000'000);
  EXPECT_GE(events_.ends[0].duration, std::chrono::milliseconds(100));
  EXPECT_LE(events_.ends[0].start_ms, events_.ends[1].start_ms);
}

TEST_P(RealEngineTest, SaysSoWhenInitIsKilled) {
  Open();
  container_->Run(Shell(1, "sleep 1000; true"));
  RunUntilMarked();
  const pid_t init = Init();
  ASSERT_GT(init, 1);
  ASSERT_EQ(kill(init, SIGKILL), 0);
  holder().RunUntil([&] { return !events_.gone.empty(); });
  EXPECT_TRUE(events_.ends.empty());
  container_->Run(Shell(2, "true"));
  RunUntilNothingIsLeft();
  EXPECT_EQ(FoldersLeft(), 0u);
  RunUntilNoneIsMarked();
  container_.reset();
  Open();
  Run(3, Play{});
  events_.gone.clear();
  RunUntilEnds(1);
}

TEST_P(RealEngineTest, LeavesNoProcessAndNoFolderOfAContainerThatIsDestroyed) {
  Open();
  container_->Run(Shell(1, "setsid sleep 1000 & sleep 1000; true"));
  RunUntilMarked();
  EXPECT_EQ(FoldersLeft(), 1u);
  container_.reset();
  RunUntilNothingIsLeft();
  RunUntilNoneIsMarked();
  EXPECT_EQ(FoldersLeft(), 0u);
}

TEST_P(RealEngineTest, SaysWhatAContainerUses) {
  Open();
  container_->Run(Shell(1, "while :; do :; done"));
  holder().RunUntil([&] { return container_->Use().cpu > std::chrono::milliseconds(100); });
  EXPECT_GT(container_->Use().memory_bytes, 100'000);
}

TEST_P(RealEngineTest, LeavesNoProcessBehindItself) {
  Open();
  container_->Run(Shell(1, "sleep 1000; true"));
  RunUntilMarked();
  holder().DestroyEngine();
  RunUntilNoneIsMarked();
}

// An agent of its own process opens a container, and dies without a chance to clean up.
TEST_P(RealEngineTest, EndsWhatACrashHasLeft) {
  holder_.reset();
  const pid_t agent = fork();
  ASSERT_GE(agent, 0);
  if (agent == 0) {
    holder_ = GetParam()(folder_);
    Recover();
    Open();
    container_->Run(Shell(1, "sleep 1000; true"));
    holder().RunUntil([] { return false; });
    _exit(1);
  }
  holder_ = GetParam()(folder_);
  RunUntilMarked();
  EXPECT_EQ(FoldersLeft(), 1u);
  ASSERT_EQ(kill(agent, SIGKILL), 0);
  waitpid(agent, nullptr, 0);
  Recover();
  RunUntilNoneIsMarked();
  EXPECT_EQ(FoldersLeft(), 0u);
  EXPECT_EQ(engine().containers(), 0u);
}

}  // namespace tidemill
