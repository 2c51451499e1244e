// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"

namespace tidemill {
namespace {

class PolicyTest : public DockerTest {
 protected:
  void OpenUnder(const ContainerPolicy& policy, const std::string& kind = "alpine-like") {
    ContainerSpec spec = SpecOf(kind);
    spec.policy = policy;
    OpenSpec(spec);
  }
  // Why it is refused; empty: it is not.
  std::string Refusal(const ContainerPolicy& policy) {
    ContainerSpec spec = SpecOf("alpine-like");
    spec.policy = policy;
    auto opened = TryOpen(spec);
    if (opened) return "";
    // Other machines of the pool may be fit for it: the job is not to be paused.
    EXPECT_EQ(opened.error().code, Code::kUnavailable);
    return opened.error().reason;
  }
};

class RemappedPolicyTest : public PolicyTest {};

INSTANTIATE_TEST_SUITE_P(Docker, PolicyTest, testing::Values(kMakeDocker));
INSTANTIATE_TEST_SUITE_P(Remapped, RemappedPolicyTest, testing::Values(kMakeRemappedDocker));

TEST_P(PolicyTest, ByDefaultAContainerHasDockersCapabilitiesWithoutRawSocketsAndDevices) {
  Open();
  // 0xa80425fb is Docker's default; NET_RAW is bit 13, MKNOD bit 27.
  EXPECT_EQ(Print("cat /proc/self/status | while read a b; do "
                  "case $a in CapEff:|CapBnd:|NoNewPrivs:|Seccomp:) echo $a $b;; esac; done"),
            "CapEff: 00000000a00405fb\nCapBnd: 00000000a00405fb\nNoNewPrivs: 1\nSeccomp: 2\n");
  EXPECT_EQ(Print("touch /x && echo ok"), "ok\n");
}

TEST_P(PolicyTest, APoolMayTakeAllCapabilitiesTheRootAndTheNetwork) {
  for (const std::string kind : {"alpine-like", "user"}) {
    OpenUnder(kStrict, kind);
    EXPECT_EQ(Print("cat /proc/self/status | while read a b; do "
                    "case $a in CapEff:|CapBnd:) echo $b;; esac; done"),
              "0000000000000000\n0000000000000000\n");
    EXPECT_EQ(Print("(touch /x || touch /srv/x || touch /etc/x) 2>/dev/null || echo no"), "no\n");
    EXPECT_EQ(Print("echo t > /tmp/x && cat /tmp/x"), "t\n");
    EXPECT_EQ(Print("echo s > $TIDEMILL_SCRATCH/x && cat $TIDEMILL_SCRATCH/x"), "s\n");
    EXPECT_EQ(Print("ls $TIDEMILL_SCRATCH"), "");
    EXPECT_EQ(Print("ls /sys/class/net"), "lo\n");
    const std::string json = Inspect();
    for (const char* part : {R"("CapDrop":["ALL"])", R"("ReadonlyRootfs":true)",
                             R"("NetworkMode":"none")", R"(size=1073741824)"}) {
      EXPECT_NE(json.find(part), std::string::npos) << part;
    }
    container_.reset();
  }
}

TEST_P(PolicyTest, WhatItCannotGiveItRefusesAndSaysWhatToDo) {
  const std::string reason = Refusal({.user_namespace = true});
  EXPECT_NE(reason.find("userns-remap"), std::string::npos) << reason;
  EXPECT_EQ(Refusal({.firewall = true}), "");
}

TEST_P(PolicyTest, WithoutRulesItSaysSoAndRunsNothingThatNeedsThem) {
  const struct {
    const char* nft;
    const char* reason;
  } cases[] = {{"/bin/false", "exit code 1"}, {"/nonexistent/nft", "No such file"}};
  for (const auto& each : cases) {
    holder_ = std::make_unique<DockerHolder>(folder_, DockerSocket(), each.nft);
    Recover();
    EXPECT_NE(holder().engine().open_network().find(each.reason), std::string::npos)
        << holder().engine().open_network();
    const std::string reason = Refusal({.firewall = true});
    EXPECT_NE(reason.find(each.reason), std::string::npos) << reason;
    EXPECT_EQ(Refusal({.no_network = true, .firewall = true}), "");
    EXPECT_EQ(Refusal({}), "");
    RunUntilNothingIsLeft();
  }
}

TEST_P(RemappedPolicyTest, TheRootOfAContainerIsNobodyOnTheMachine) {
  ContainerPolicy policy = kStrict;
  policy.user_namespace = true;
  for (const ContainerPolicy& each : {ContainerPolicy{.user_namespace = true}, policy}) {
    OpenUnder(each);
    EXPECT_EQ(Print("id -u; touch $TIDEMILL_SCRATCH/x && echo ok"), "0\nok\n");
    container_->Run(Shell(++last_, "echo > $TIDEMILL_SCRATCH/y; sleep 1000; true"));
    RunUntilMarked();
    const std::string status = Read("/proc/" + std::to_string(Init()) + "/status");
    EXPECT_NE(status.find("Uid:\t200000\t200000"), std::string::npos) << status;
    container_.reset();
    RunUntilNothingIsLeft();
    EXPECT_EQ(FoldersLeft(), 0u);
  }
}

// As with a rootless Engine, or one in a container: its bridge is not where our rules are.
TEST_P(RemappedPolicyTest, AnEngineInAnotherNetworkIsNotTakenForShut) {
  EXPECT_NE(holder().engine().open_network().find("tidemill0"), std::string::npos)
      << holder().engine().open_network();
  EXPECT_NE(Refusal({.firewall = true}).find("tidemill0"), std::string::npos);
}

}  // namespace
}  // namespace tidemill
