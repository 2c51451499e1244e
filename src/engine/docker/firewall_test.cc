// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/firewall.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/beside_test.h"
#include "engine/docker/docker_fixture.h"
#include "net/unix_listener.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class FirewallTest : public testing::Test {
 protected:
  FirewallTest() {
    char name[] = "/tmp/tidemill-firewall-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~FirewallTest() override { std::filesystem::remove_all(folder_); }

  // A program that is called as nft is.
  std::string Fake(const std::string& script) {
    const std::string path = folder_ + "/nft";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  std::string Kept(const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    std::string text;
    std::getline(file, text, '\0');
    return text;
  }

  std::string folder_;
};

TEST_F(FirewallTest, TheRulesNameTheBridgeInEveryChain) {
  const std::string rules = FirewallRules("b7", {});
  for (const char* part :
       {"table inet tidemill\ndelete table inet tidemill\n", "hook prerouting priority -150",
        "hook input priority -10", "hook forward priority -10", "169.254.0.0/16", "168.63.129.16",
        "100.100.100.200", "fe80::/10", "fd00:ec2::/32", "fd20:ce::254", "ibrname \"b7\" drop",
        "oifname \"b7\" drop"}) {
    EXPECT_NE(rules.find(part), std::string::npos) << part << " is not in\n" << rules;
  }
  int chains = 0;
  for (std::size_t at = 0; (at = rules.find("iifname != \"b7\" accept", at)) != rules.npos; ++at) {
    ++chains;
  }
  EXPECT_EQ(chains, 3);
  const std::string old = FirewallRules("b7", {.ip6 = false, .bridge = false});
  EXPECT_EQ(old.find("ip6"), std::string::npos);
  EXPECT_EQ(old.find("icmpv6"), std::string::npos);
  EXPECT_EQ(old.find("bridge"), std::string::npos);
  EXPECT_NE(old.find("table ip tidemill {"), std::string::npos);
}

TEST_F(FirewallTest, GivesTheRulesToNftWithoutAShellAndWithoutOurEnvironment) {
  const std::string nft =
      Fake("cat > " + folder_ + "/in; echo \"$*\" > " + folder_ + "/words; ls /proc/self/fd > " +
           folder_ + "/fds; env > " + folder_ + "/env");
  ASSERT_TRUE(RunNft(nft, "some rules\n", seconds(10)));
  EXPECT_EQ(Kept("in"), "some rules\n");
  EXPECT_EQ(Kept("words"), "-f -\n");
  EXPECT_EQ(Kept("fds"), "0\n1\n2\n3\n");  // 3 is that of ls
  EXPECT_EQ(Kept("env").find("TIDEMILL"), std::string::npos);
}

TEST_F(FirewallTest, SaysWhatNftSaidAndWaitsForNoneThatHangs) {
  auto run = RunNft(Fake("echo 'Operation not permitted' >&2; echo more; exit 1"), "", seconds(10));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().reason, "Operation not permitted");
  run = RunNft(Fake("exit 3"), "", seconds(10));
  EXPECT_EQ(run.error().reason, "exit code 3");
  run = RunNft(folder_ + "/none", "", seconds(10));
  EXPECT_NE(run.error().reason.find("No such file"), std::string::npos);
  run = RunNft(Fake("exec sleep 1000"), "", seconds(1));
  EXPECT_NE(run.error().reason.find("in time"), std::string::npos);
}

TEST_F(FirewallTest, DoesWithoutWhatAKernelHasNotGot) {
  LoopRunner runner;
  const std::string nft = Fake("cat > " + folder_ + "/in; if grep -q 'table bridge' " + folder_ +
                               "/in; then echo 'Error: Operation not supported'; exit 1; fi");
  const auto listener =
      UnixListener::Listen(runner.loop(), folder_ + "/engine", [](const UnixPeer&) {});
  ASSERT_TRUE(listener);
  Firewall firewall(runner.loop(), {"lo", folder_ + "/engine", nft});
  EXPECT_EQ(firewall.open(), "nobody has looked yet");
  int done = 0;
  firewall.Apply([&] { ++done; });
  firewall.Apply([&] { ++done; });
  EXPECT_EQ(done, 0);
  runner.RunUntil([&] { return done == 2; });
  EXPECT_EQ(firewall.open(), "");
  EXPECT_NE(Kept("in").find("table inet tidemill {"), std::string::npos);
}

TEST_F(FirewallTest, LeavesNoRulesOutForAnErrorOfAnotherKind) {
  LoopRunner runner;
  const std::string nft = Fake("cat > " + folder_ + "/in; if grep -q 'table bridge' " + folder_ +
                               "/in; then echo 'Error: Device or resource busy'; exit 1; fi");
  Firewall firewall(runner.loop(), {"lo", folder_ + "/engine", nft});
  bool done = false;
  firewall.Apply([&] { done = true; });
  runner.RunUntil([&] { return done; });
  EXPECT_NE(firewall.open().find("busy"), std::string::npos) << firewall.open();
  EXPECT_NE(Kept("in").find("table bridge"), std::string::npos);
}

// For this thread and what it starts, until it ends.
void ForbidPidfds() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST_F(FirewallTest, WaitsForNftAlsoWhereAKernelHasNoPidfds) {
  std::thread([this] {
    ForbidPidfds();
    ASSERT_LT(syscall(SYS_pidfd_open, getpid(), 0), 0);
    EXPECT_TRUE(RunNft(Fake("sleep 0.2"), "", seconds(10)));
    auto run = RunNft(Fake("sleep 0.2; exit 3"), "", seconds(10));
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().reason, "exit code 3");
    run = RunNft(Fake("exec sleep 1000"), "", seconds(1));
    ASSERT_FALSE(run);
    EXPECT_NE(run.error().reason.find("in time"), std::string::npos);
  }).join();
}

TEST_F(FirewallTest, IsNotShutIfTheBridgeOrTheEngineIsElsewhere) {
  const std::string remapped = FromEnvironment("TIDEMILL_TEST_DOCKER_REMAPPED");
  const Firewall::Options cases[] = {
      {"no-such-bridge", DockerSocket()}, {"lo", remapped}, {"lo", "/nonexistent"}};
  for (Firewall::Options options : cases) {
    LoopRunner runner;
    options.nft = Fake("true");
    Firewall firewall(runner.loop(), options);
    bool done = false;
    firewall.Apply([&] { done = true; });
    runner.RunUntil([&] { return done; });
    EXPECT_NE(firewall.open().find("interface " + options.bridge), std::string::npos);
  }
}

class NetworkTest : public DockerTest {
 protected:
  ~NetworkTest() override {
    container_.reset();
    RunUntilNothingIsLeft();
  }
  // Needs the rights and the namespace that the tests have.
  static std::string Command(const std::string& line) {
    FILE* pipe = popen((line + " 2>&1").c_str(), "r");
    std::string out;
    for (int c = 0; (c = fgetc(pipe)) != EOF;) out.push_back(static_cast<char>(c));
    pclose(pipe);
    return out;
  }
  static std::string Rules() { return Command("nft list table inet tidemill"); }
};

INSTANTIATE_TEST_SUITE_P(DockerAlone, NetworkTest, testing::Values(kMakeDocker));

TEST_P(NetworkTest, RecoverPutsTheRulesInPlaceOnceHoweverOftenItIsCalled) {
  EXPECT_EQ(holder().engine().open_network(), "");
  const std::string before = Rules();
  EXPECT_NE(before.find("hook forward"), std::string::npos) << before;
  Recover();
  Recover();
  EXPECT_EQ(Rules(), before);
  Command("nft delete table inet tidemill");
  EXPECT_EQ(Rules().find("hook"), std::string::npos);
  Recover();
  EXPECT_EQ(Rules(), before);
  EXPECT_EQ(holder().engine().open_network(), "");
}

TEST_P(NetworkTest, WhatSomebodyRemovesComesBackByItself) {
  holder_ = std::make_unique<DockerHolder>(folder_, DockerSocket(), "", seconds(1));
  Recover();
  const std::string before = Rules();
  Command("nft delete table inet tidemill");
  Docker("DELETE", "/networks/tidemill");
  holder().RunUntil([&] { return Rules() == before; });
  EXPECT_EQ(Rules(), before);
  holder().RunUntil([&] { return if_nametoindex("tidemill0") != 0; });
}

TEST_P(NetworkTest, ANetworkThatSomebodyRemovedIsMadeAgain) {
  Docker("DELETE", "/networks/tidemill");
  EXPECT_NE(Docker("GET", "/networks/tidemill").find("not found"), std::string::npos);
  Open();
  EXPECT_EQ(Print("ls /sys/class/net"), "eth0\nlo\n");
  EXPECT_NE(Docker("GET", "/networks/tidemill").find("tidemill0"), std::string::npos);
}

TEST_P(NetworkTest, ManyAgentsMayMakeItAtOnce) {
  Docker("DELETE", "/networks/tidemill");
  std::vector<std::unique_ptr<DockerEngine>> engines;
  std::vector<std::string> open;
  for (int i = 0; i < 8; ++i) {
    const std::string folder = folder_ + "/" + std::to_string(i);
    engines.push_back(std::make_unique<DockerEngine>(
        docker().loop(),
        DockerEngineOptions{DockerSocket(), folder, BesideTest("tidemill-init"), folder}));
    engines.back()->Recover([&, engine = engines.back().get()](const Result<EngineInfo>& info) {
      open.push_back(info ? engine->open_network() : info.error().reason);
    });
  }
  holder().RunUntil([&] { return open.size() == 8; });
  EXPECT_EQ(open, std::vector<std::string>(8, ""));
  const std::string list = Docker("GET", "/networks");
  const std::size_t first = list.find("\"Name\":\"tidemill\"");
  EXPECT_NE(first, list.npos);
  EXPECT_EQ(list.find("\"Name\":\"tidemill\"", first + 1), list.npos);
}

TEST_P(NetworkTest, AnotherNetworkOfThatNameIsNotUsed) {
  Docker("DELETE", "/networks/tidemill");
  Docker("POST", "/networks/create", R"({"Name":"tidemill","Driver":"bridge"})");
  auto opened = TryOpen(holder().Spec());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
  EXPECT_NE(opened.error().reason.find("docker network rm tidemill"), std::string::npos);
  Recover();
  EXPECT_NE(holder().engine().open_network().find("is not ours"), std::string::npos);
  Docker("DELETE", "/networks/tidemill");
  Recover();
  EXPECT_EQ(holder().engine().open_network(), "");
}

}  // namespace
}  // namespace tidemill
