// SPDX-License-Identifier: Apache-2.0
// What is left of an item when its End is told: no process and no file.
#include <sys/stat.h>

#include "init/driven_init.h"

namespace tidemill::init {
namespace {

bool IsEmptyFolder(const std::string& folder) { return std::filesystem::is_empty(folder); }

// Calls `body` with an init of the test's own user, and with one of a user without rights.
template <typename Body>
void AsEachUser(Body body) {
  for (const uid_t user : {uid_t{0}, kNobody}) {
    SCOPED_TRACE(user);
    if (user != 0 && geteuid() != 0) continue;  // only root can be another one
    body(user);
  }
}

TEST(Leftovers, AreDeadBeforeTheNextItemStarts) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  // In the same group, in a session of its own, and with one and two parents dead. Each says that
  // it is there, and holds the pipe.
  init.RunShell(1, "left=\"echo > $1/\\$0; exec sleep " + sleep +
                       "\"; sh -c \"$left\" a & setsid sh -c \"$left\" b & "
                       "(setsid setsid sh -c \"$left\" c &); "
                       "(setsid sh -c \"setsid sh -c '$left' d &\" &); "
                       "while [ $(ls $1 | wc -l) -lt 4 ]; do :; done; echo left; exit 3");
  // The brackets keep it from finding itself.
  init.RunShell(2, "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' ' | grep -c '[" +
                       sleep.substr(0, 1) + "]" + sleep.substr(1) + "'");
  const Told one = init.Take();
  EXPECT_EQ(one.log, "left\n");
  EXPECT_EQ(one.end.exit, 3);
  EXPECT_EQ(init.Take().log, "0\n");
}

TEST(Leftovers, AreNotTheChildrenOfOthers) {
  const std::string sleep = UniqueSleep();
  const pid_t stranger = fork();
  if (stranger == 0) {
    execl(kBusybox, "busybox", "sleep", sleep.c_str(), nullptr);
    _exit(99);
  }
  {
    DrivenInit init;
    init.RunShell(1, "(setsid sleep 1000 &)");
    EXPECT_EQ(init.Take().end.exit, 0);
  }
  EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0);
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
}

TEST(Leftovers, OfAKilledItemDieToo) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  init.RunShell(
      1, "(setsid sh -c \"trap '' TERM; echo ready; sleep " + sleep + "\" &); sleep " + sleep);
  init.AwaitLog("ready");
  init.Stop(1);
  EXPECT_TRUE(init.Take().end.stopped);
  EXPECT_EQ(Alive(sleep), 0);
}

TEST(Leftovers, MayBeMany) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  init.RunShell(1, "i=0; while [ $i -lt 800 ]; do setsid sleep " + sleep +
                       " & i=$((i+1)); done; echo started");
  EXPECT_EQ(init.Take().log, "started\n");
  EXPECT_EQ(Alive(sleep), 0);
}

TEST(Leftovers, ThatDieDuringTheItemAreWaitedFor) {
  DrivenInit init;
  init.RunShell(1,
                "for i in $(seq 100); do (true &); done; sleep 0.1; "

                "cat /proc/$PPID/task/$PPID/children | wc -w");
  // init has no child but the item itself.
  EXPECT_EQ(init.Take().log, "1\n");
}

TEST(Leftovers, WhatTheyWroteIsInTheLog) {
  DrivenInit init;
  init.RunShell(1,
                "(setsid sh -c 'echo late; sleep 1000' &); while ! [ -e $1/go ]; do "
                "echo > $1/go; sleep 0.2; done; exit 4");
  const Told told = init.Take();
  EXPECT_EQ(told.log, "late\n");
  EXPECT_EQ(told.end.exit, 4);
}

TEST(Scratch, IsEmptyAfterEachItem) {
  AsEachUser([](uid_t user) {
    DrivenInit init({.user = user});
    init.RunShell(1,
                  "cd $1 && mkdir -p a/b/c .hidden && echo x > a/b/c/file && mkfifo a/pipe && "
                  "ln -s nowhere a/link && echo > .lifted-0 && mkdir -p .lifted-1/x && "
                  "mkdir -p a/d/e && echo > 'new\nline' && ls -A | wc -l");
    EXPECT_EQ(init.Take().log, "5\n");
    EXPECT_TRUE(IsEmptyFolder(init.scratch()));
    init.RunShell(2, "ls -A $1 | wc -l; echo > $1/again");
    EXPECT_EQ(init.Take().log, "0\n");
    EXPECT_TRUE(IsEmptyFolder(init.scratch()));
  });
}

TEST(Scratch, MayHaveBeenShutByTheItem) {
  AsEachUser([](uid_t user) {
    DrivenInit init({.user = user});
    init.RunShell(1,
                  "cd $1 && mkdir -p a/b/c d && echo > a/b/c/x && chmod 000 a/b/c a/b a d && "
                  "chmod 000 $1 && echo done");
    EXPECT_EQ(init.Take().log, "done\n");
    EXPECT_TRUE(IsEmptyFolder(init.scratch()));
    init.RunShell(2, "echo > $1/file && echo written; chmod 500 $1");
    EXPECT_EQ(init.Take().log, "written\n");
    EXPECT_TRUE(IsEmptyFolder(init.scratch()));
    init.RunShell(3, "echo > $1/file && echo written");
    EXPECT_EQ(init.Take().log, "written\n");
  });
}

TEST(Scratch, IsNotLeftThroughALink) {
  const TempFolder outside;
  std::ofstream(outside.path() + "/precious") << "x";
  DrivenInit init;
  init.RunShell(1, "cd $1 && ln -s " + outside.path() + " link && mkdir a && ln -s " +
                       outside.path() + " a/link && ln " + outside.path() + "/precious hard");
  EXPECT_EQ(init.Take().end.exit, 0);
  EXPECT_TRUE(IsEmptyFolder(init.scratch()));
  EXPECT_TRUE(std::filesystem::exists(outside.path() + "/precious"));
}

TEST(Scratch, MayHoldADeepTree) {
  DrivenInit init;
  // Deeper than the longest path, and than there are descriptors.
  int folder = open(init.scratch().c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 3'000; ++i) {
    ASSERT_EQ(mkdirat(folder, "a-folder", 0755), 0);
    ASSERT_EQ(mkdirat(folder, "another", 0755), 0);
    const int inner = openat(folder, "a-folder", O_RDONLY | O_DIRECTORY);
    close(folder);
    folder = inner;
  }
  close(folder);
  init.RunShell(1, "exit 0");
  EXPECT_EQ(init.Take().end.exit, 0);
  EXPECT_TRUE(IsEmptyFolder(init.scratch()));
}

TEST(Scratch, MayHoldManyFiles) {
  DrivenInit init;
  init.RunShell(1,
                "cd $1 && seq 3000 | xargs touch && mkdir many && cd many && "
                "seq 3000 | xargs touch && mkdir d && cd d && seq 500 | xargs mkdir && echo made");
  EXPECT_EQ(init.Take().log, "made\n");
  EXPECT_TRUE(IsEmptyFolder(init.scratch()));
}

TEST(Scratch, ThatCannotBeEmptiedEndsInitAfterTheEnd) {
  DrivenInit init;
  init.RunShell(1, "rm -r $1; ln -s /tmp $1; exit 6");
  EXPECT_EQ(init.Take().end.exit, 6);
  EXPECT_EQ(init.AwaitExit(), 4);
  std::filesystem::remove(init.scratch());
}

}  // namespace
}  // namespace tidemill::init
