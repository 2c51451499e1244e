// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine promises besides, if its items are processes that /proc shows. Only one .cc file
// of a test program may include it.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "engine/engine_real_testing.h"

namespace tidemill {

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

TEST_P(RealEngineTest, BeginsWhereItIsTold) {
  const std::string folder = folder_ + "/work";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/file") << "here";
  ContainerSpec spec = holder_->Spec();
  spec.mounts = {{folder, "/.tidemill/code", true}};
  spec.work_folder = engine().mounts() ? "/.tidemill/code" : folder;
  auto opened = TryOpen(spec);
  ASSERT_TRUE(opened) << opened.error().reason;
  container_ = *std::move(opened);
  container_->Run(Shell(1, "cat file; (echo x >new) 2>/dev/null || echo ' and is kept'"));
  container_->Run(Shell(2, "cd /; pwd"));
  container_->Run(Shell(3, "cat file"));
  RunUntilEnds(3);
  EXPECT_EQ(LogOf(3), "here") << "each item begins there";
  EXPECT_EQ(LogOf(1), engine().mounts() ? "here and is kept\n" : "here");
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

TEST_P(RealEngineTest, SecretFilesAreInMemoryAndForTheItemAlone) {
  OpenForSecrets();
  ItemRun run = Shell(1,
                      "cd $TIDEMILL_SECRETS && stat -c '%a %u' . a && id -u && ls && cat a && "
                      "df -t tmpfs . > /dev/null && echo memory; chmod 0 a .; echo y > ../left");
  run.secret_files = {{"b", ""}, {"a", "canary\n"}};
  container_->Run(run);
  container_->Run(Shell(2, "ls -A ${TIDEMILL_SECRETS:-none} 2>/dev/null; echo $TIDEMILL_SECRETS."));
  run = Shell(3, "ls -A $TIDEMILL_SECRETS/.. | wc -l");
  run.secret_files = {{"a", ""}};
  container_->Run(run);
  RunUntilEnds(3);
  EXPECT_EQ(LogOf(1), "700 0\n600 0\n0\na\nb\ncanary\nmemory\n");
  EXPECT_EQ(LogOf(2), ".\n");
  EXPECT_EQ(LogOf(3), "1\n");
}

TEST_P(RealEngineTest, TakesAsManyAndAsLargeSecretFilesAsThereMayBe) {
  OpenForSecrets();
  ItemRun run = Shell(1, "cat $TIDEMILL_SECRETS/* | wc -c");
  for (char c = 'a'; c < 'a' + 16; ++c) {
    run.secret_files.push_back({{c}, std::string(32 * 1024, '\0')});
  }
  container_->Run(run);
  run.number = 2;
  run.secret_files.push_back({"one-more", ""});
  container_->Run(run);
  run.number = 3;
  run.secret_files = {{"../a", "canary"}};
  container_->Run(run);
  run.number = 4;
  run.secret_files = {{"a", std::string(32 * 1024 + 1, 'x')}};
  container_->Run(run);
  RunUntilEnds(4);
  EXPECT_EQ(LogOf(1), "524288\n");
  EXPECT_EQ(Exits(), (std::vector<int>{0, 126, 126, 126}));
  EXPECT_EQ(LogOf(3).find("canary"), std::string::npos);
}

// As one that is starved: neither the item nor its leftovers outlive their container.
TEST_P(RealEngineTest, EndsWhatIsInAContainerWhoseInitDoesNothing) {
  Open();
  const std::string bomb = "trap '' TERM HUP; while :; do sleep 1; done";
  container_->Run(Shell(1, "(setsid /bin/sh -c \"" + bomb + "\" $0 &); echo up; " + bomb));
  holder().RunUntil([&] { return LogOf(1) == "up\n" && Marked().size() >= 2; });
  const pid_t init = Init();
  ASSERT_GT(init, 1);
  ASSERT_EQ(kill(init, SIGSTOP), 0);
  container_.reset();
  RunUntilNoneIsMarked();
  RunUntilNothingIsLeft();
  EXPECT_EQ(FoldersLeft(), 0u);
}

TEST_P(RealEngineTest, TheKernelEndsItemsBeforeTheirInit) {
  Open();
  // It is raised right after the item has begun.
  const std::string await = "until grep -qx 1000 /proc/self/oom_score_adj; do :; done; ";
  container_->Run(Shell(1, await + "cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj"));
  RunUntilEnds(1);
  EXPECT_TRUE(LogOf(1).starts_with("1000\n"));
  EXPECT_NE(LogOf(1), "1000\n1000\n");
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
  RunUntilNothingIsLeft();
  // Nobody waits for the folders, so that a large one does not hold the machine up.
  holder().RunUntil([&] { return FoldersLeft() == 0; });
}

}  // namespace tidemill
