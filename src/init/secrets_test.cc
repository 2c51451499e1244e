// SPDX-License-Identifier: Apache-2.0
// Secret files: there while their item runs, for its user alone, and gone before its End.
#include <sys/mount.h>
#include <sys/stat.h>

#include "init/driven_init.h"

namespace tidemill::init {
namespace {

namespace fs = std::filesystem;

bool HasNoSecrets(const DrivenInit& init) { return fs::is_empty(init.secrets()); }

TEST(SecretFiles, AreThereWhileTheItemRuns) {
  DrivenInit init({.secrets = true});
  const std::string binary("\0\n\xff", 3);
  init.RunShell(1, "cd $TIDEMILL_SECRETS && ls && cat a && od -An -tx1 b.json; echo got", {},
                {{"a", "first\n"}, {"b.json", binary}});
  const Told told = init.Take();
  EXPECT_EQ(told.log, "a\nb.json\nfirst\n 00 0a ff\ngot\n");
  EXPECT_TRUE(HasNoSecrets(init));
}

TEST(SecretFiles, AreGoneForTheNextItemWhichFindsAnotherFolder) {
  DrivenInit init({.secrets = true});
  const std::string look = "echo $TIDEMILL_SECRETS; ls -A " + init.secrets() + " | wc -l";
  init.RunShell(1, look, {}, {{"a", "x"}});
  init.RunShell(2, look);
  init.RunShell(3, look, {}, {{"a", "x"}});
  const std::string one = init.Take().log;
  EXPECT_TRUE(one.starts_with(init.secrets() + "/")) << one;
  EXPECT_EQ(init.Take().log, "\n0\n");
  const std::string three = init.Take().log;
  EXPECT_TRUE(three.ends_with("\n1\n")) << three;
  EXPECT_NE(three, one);
}

TEST(SecretFiles, HaveNothingLeftOfWhatAnItemDidInTheirFolder) {
  DrivenInit init({.secrets = true});
  init.RunShell(
      1,
      "cd $TIDEMILL_SECRETS && mkdir -p d/e/f && cp a d/e/f/copy && ln -s /etc/passwd l && "
      "chmod 0 a d . && cp /etc/passwd ../other && ln ../other ../more",
      {}, {{"a", "x"}});
  EXPECT_EQ(init.Take().end.exit, 0);
  EXPECT_TRUE(HasNoSecrets(init));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
  init.RunShell(2, "echo x > " + init.secrets() + "/left");  // one that has no secrets itself
  EXPECT_EQ(init.Take().end.exit, 0);
  EXPECT_TRUE(HasNoSecrets(init));
}

TEST(SecretFiles, AreNotKeptOpenByAnItemsLeftovers) {
  DrivenInit init({.secrets = true});
  const std::string sleep = UniqueSleep();
  init.RunShell(1,
                "setsid sh -c 'exec 9< '$TIDEMILL_SECRETS'/a; exec sleep " + sleep +
                    "' & sleep 0.2; echo left",
                {}, {{"a", "x"}});
  EXPECT_EQ(init.Take().log, "left\n");
  EXPECT_EQ(Alive(sleep), 0);
  EXPECT_TRUE(HasNoSecrets(init));
}

TEST(SecretFiles, AreGoneBeforeTheEndOfAnItemThatWasKilled) {
  DrivenInit init({.secrets = true});
  init.RunShell(1, "echo ready; sleep 1000", {.timeout_us = 200'000}, {{"a", "x"}});
  EXPECT_TRUE(init.Take().end.timed_out);
  EXPECT_TRUE(HasNoSecrets(init));
}

TEST(SecretFiles, AreGoneWhenTheAgentIs) {
  DrivenInit init({.secrets = true});
  init.RunShell(1, "echo ready; sleep 1000", {}, {{"a", "x"}});
  init.AwaitLog("ready");
  EXPECT_FALSE(HasNoSecrets(init));
  init.CloseSocket();
  EXPECT_EQ(init.AwaitExit(), 0);
  EXPECT_TRUE(HasNoSecrets(init));
}

TEST(SecretFiles, OfAnItemThatCannotBeStartedAreGoneToo) {
  DrivenInit init({.secrets = true});
  init.Run(1, {"/no/such/program"}, {}, {}, {{"a", "x"}});
  const Told told = init.Take();
  EXPECT_EQ(told.end.error, ENOENT);
  EXPECT_FALSE(told.end.no_secrets);
  EXPECT_TRUE(HasNoSecrets(init));
}

TEST(SecretFiles, WithoutAFolderForThemStopAnItemFromStarting) {
  DrivenInit init;
  init.RunShell(1, "echo ran", {}, {{"a", "canary"}});
  init.RunShell(2, "echo next");
  const Told told = init.Take();
  EXPECT_EQ(told.log, "");
  EXPECT_TRUE(told.end.no_secrets);
  EXPECT_EQ(told.end.error, EOPNOTSUPP);
  EXPECT_EQ(init.Take().log, "next\n");
}

class RootOnly : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(geteuid(), 0u) << "run it as root: it mounts and changes users";
  }
};

using SecretFilesAsRoot = RootOnly;

TEST_F(SecretFilesAsRoot, AreTheItemUsersAlone) {
  for (const uid_t user : {uid_t{0}, kNobody}) {
    const mode_t before = umask(user == 0 ? 0 : 0277);
    DrivenInit init({.user = user, .secrets = true});
    umask(before);
    init.RunShell(1, "cd $TIDEMILL_SECRETS && stat -c '%a %u' . a && cat a", {}, {{"a", "x\n"}});
    const std::string id = std::to_string(user);
    EXPECT_EQ(init.Take().log, "700 " + id + "\n600 " + id + "\nx\n");
    EXPECT_TRUE(HasNoSecrets(init));
  }
}

TEST_F(SecretFilesAsRoot, ThatDoNotFitStopAnItemFromStartingAndLeaveNothing) {
  DrivenInit init({.first_process = true, .secrets = true});
  ASSERT_EQ(mount("tmpfs", init.secrets().c_str(), "tmpfs", 0, "size=8k,mode=1777"), 0);
  init.RunShell(1, "echo ran", {}, {{"a", std::string(32 * 1024, 'x')}});
  const Told told = init.Take();
  EXPECT_EQ(told.log, "");
  EXPECT_TRUE(told.end.no_secrets);
  EXPECT_EQ(told.end.error, ENOSPC);
  EXPECT_TRUE(HasNoSecrets(init));
  init.RunShell(2, "cat $TIDEMILL_SECRETS/a", {}, {{"a", "fits\n"}});
  EXPECT_EQ(init.Take().log, "fits\n");
  umount(init.secrets().c_str());
}

// What is in the memory of a process that we may read, as root.
bool HasInMemory(pid_t pid, const std::string& text) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::ifstream memory("/proc/" + std::to_string(pid) + "/mem", std::ios::binary);
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (sscanf(line.c_str(), "%lx-%lx rw", &begin, &end) != 2) continue;
    std::string bytes(end - begin, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (bytes.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_F(SecretFilesAsRoot, AreNotLeftInTheMemoryOfInit) {
  DrivenInit init({.secrets = true});
  // Put together here only, so that it is nowhere in init's own program.
  const std::string canary = "canary-" + UniqueSleep();
  const std::string large = std::string(30'000, 'x') + canary;
  init.Run(1, {kBusybox, "sh", "-c", "echo ready; sleep 1000"}, {}, {"TOKEN=" + canary},
           {{"a", large}, {"b", large}, {"c", large}});
  init.AwaitLog("ready");
  EXPECT_FALSE(HasInMemory(init.pid(), canary));
  EXPECT_TRUE(HasInMemory(init.pid(), "OWN=from init"));  // so that we would have seen it
  init.Stop(1);
  init.Take();
}

TEST_F(SecretFilesAsRoot, AreNotReadFromInitByTheItemsOfAUser) {
  DrivenInit init({.user = kNobody, .secrets = true});
  init.RunShell(1,
                "for f in mem environ maps; do head -c1 /proc/$PPID/$f >/dev/null 2>&1 && echo $f; "
                "done; echo tried");
  EXPECT_EQ(init.Take().log, "tried\n");
}

}  // namespace
}  // namespace tidemill::init
