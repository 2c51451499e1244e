// SPDX-License-Identifier: Apache-2.0
// init as PID 1, and in a root that holds nothing else.
#include "init/driven_init.h"

namespace tidemill::init {
namespace {

// Only root may make namespaces and change its root. The gate is root.
bool MayMakeContainers() {
  if (geteuid() != 0) return false;
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
  if (pid == 0) _exit(0);
  if (pid < 0) return false;
  waitpid(pid, nullptr, 0);
  return true;
}

class Container : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MayMakeContainers()) << "run it as root: it makes namespaces";
  }
};

TEST_F(Container, HasInitAsItsFirstProcess) {
  DrivenInit init({.first_process = true});
  init.RunShell(1, "echo $PPID");
  EXPECT_EQ(init.Take().log, "1\n");
}

TEST_F(Container, HasNoLeftovers) {
  DrivenInit init({.first_process = true});
  const std::string sleep = UniqueSleep();
  init.RunShell(1, "trap '' TERM; sleep " + sleep +
                       " & (setsid setsid sh -c \"trap '' TERM; sleep " + sleep +
                       "; :\" &) ; sleep 0.2; echo left; exit 3");
  init.RunShell(2, "echo next");
  const Told one = init.Take();
  EXPECT_EQ(one.log, "left\n");
  EXPECT_EQ(one.end.exit, 3);
  EXPECT_EQ(Alive(sleep), 0);
  EXPECT_EQ(init.Take().log, "next\n");
}

TEST_F(Container, SurvivesWhatAnItemSendsToItsFirstProcess) {
  DrivenInit init({.first_process = true});
  init.RunShell(1, "kill -TERM 1; kill -KILL 1; kill -STOP 1; kill -TERM -1; echo tried");
  init.RunShell(2, "echo next");
  init.Take();
  EXPECT_EQ(init.Take().log, "next\n");
}

TEST_F(Container, EndsWithSigtermFromOutside) {
  DrivenInit init({.first_process = true});
  const std::string sleep = UniqueSleep();
  init.RunShell(1, "trap '' TERM; echo ready; sleep " + sleep);
  init.AwaitLog("ready");
  kill(init.pid(), SIGTERM);
  EXPECT_EQ(init.AwaitExit(), 0);
  EXPECT_EQ(Alive(sleep), 0);
}

TEST_F(Container, EndsWithItsAgent) {
  DrivenInit init({.first_process = true});
  const std::string sleep = UniqueSleep();
  init.RunShell(1, "(setsid sleep " + sleep + " &); echo ready; sleep " + sleep);
  init.AwaitLog("ready");
  init.CloseSocket();
  EXPECT_EQ(init.AwaitExit(), 0);
  EXPECT_EQ(Alive(sleep), 0);
}

TEST_F(Container, KillsAfterTheGrace) {
  DrivenInit init({.first_process = true});
  init.RunShell(1, "trap '' TERM; while :; do sleep 1; done",
                {.timeout_us = 100'000, .grace_us = 100'000});
  const Told told = init.Take();
  EXPECT_EQ(told.end.signal, SIGKILL);
  EXPECT_TRUE(told.end.timed_out);
}

TEST_F(Container, HidesInitsDescriptorsFromItsItems) {
  DrivenInit init({.user = kNobody});
  init.RunShell(1, "ls /proc/$PPID/fd 2>/dev/null | wc -l; ls /proc/$$/fd | wc -l");
  const std::string log = init.Take().log;
  EXPECT_EQ(log.substr(0, 2), "0\n");
  EXPECT_NE(log, "0\n0\n");
}

// A root with init, one static program and a scratch folder: no /dev, no /proc, no shell, no user.
class EmptyRoot : public Container {
 protected:
  void SetUp() override {
    Container::SetUp();
    if (IsSkipped()) return;
    std::filesystem::copy_file(kInitProgram, root_.path() + "/tidemill-init");
    std::filesystem::copy_file(kBusybox, root_.path() + "/busybox");
    std::filesystem::create_directory(root_.path() + "/scratch");
    chmod(root_.path().c_str(), 0755);
    ASSERT_EQ(chown((root_.path() + "/scratch").c_str(), kNobody, kNobody), 0);
    std::filesystem::create_directory(root_.path() + "/secrets");
    ASSERT_EQ(chmod((root_.path() + "/secrets").c_str(), 01777), 0);
  }

  const TempFolder root_;
};

TEST_F(EmptyRoot, RunsItemsAsAUserWithoutRights) {
  DrivenInit init({.first_process = true, .root = root_.path(), .user = kNobody});
  init.Run(1, {"/busybox", "id", "-u"});
  EXPECT_EQ(init.Take().log, "65534\n");
  init.Run(2, {"/busybox", "cat"});  // stdin ends at once, also without /dev/null
  const Told cat = init.Take();
  EXPECT_EQ(cat.log, "");
  EXPECT_EQ(cat.end.exit, 0);
  init.Run(3, {"/busybox", "sh", "-c", "echo x > /scratch/file; /busybox sleep 1000 & exit 2"});
  EXPECT_EQ(init.Take().end.exit, 2);
  EXPECT_TRUE(std::filesystem::is_empty(root_.path() + "/scratch"));
  init.Run(4, {"busybox"}, {}, {"PATH=/"});
  EXPECT_EQ(init.Take().end.error, 0);
  init.Run(5, {"nothing"});
  EXPECT_EQ(init.Take().end.error, ENOENT);
}

TEST_F(EmptyRoot, HasSecretFilesForAUserWithoutRights) {
  DrivenInit init({.first_process = true, .root = root_.path(), .user = kNobody, .secrets = true});
  init.Run(1, {"/busybox", "sh", "-c", "/busybox stat -c '%a %u' $TIDEMILL_SECRETS/a"}, {}, {},
           {{"a", "x"}});
  EXPECT_EQ(init.Take().log, "600 65534\n");
  EXPECT_TRUE(std::filesystem::is_empty(root_.path() + "/secrets"));
}

// The kernel ends those with the highest score first, and an item may not have less than init. It
// is raised right after the item has begun.
constexpr char kAwaitScore[] = "until grep -qx 1000 /proc/self/oom_score_adj; do :; done; ";

TEST(OomScore, OfAnItemIsAboveThatOfItsInit) {
  for (const uid_t user : {uid_t{0}, uid_t{65534}}) {
    DrivenInit init({.user = user});
    init.RunShell(1, std::string(kAwaitScore) +
                         "cat /proc/self/oom_score_adj; own=$(cat /proc/$PPID/oom_score_adj);"
                         "echo $((own < 1000))");
    EXPECT_EQ(init.Take().log, "1000\n1\n") << user;
  }
  DrivenInit init({.user = 65534});
  init.RunShell(1, std::string(kAwaitScore) +
                       "own=$(cat /proc/$PPID/oom_score_adj);"
                       "(echo $((own - 1)) > /proc/self/oom_score_adj) 2> /dev/null && echo less;"
                       "cat /proc/self/oom_score_adj");
  EXPECT_EQ(init.Take().log, "1000\n");
}

}  // namespace
}  // namespace tidemill::init
