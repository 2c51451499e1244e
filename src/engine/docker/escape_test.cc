// SPDX-License-Identifier: Apache-2.0
// What a hostile item tries, from inside containers that our engine has opened: as root and as a
// plain user, by default and under a strict policy, and where users are remapped.
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"

namespace tidemill {
namespace {

// Of the machine, for a container to find: a file, shared memory, a socket without a path.
class Bait {
 public:
  explicit Bait(const std::string& folder) : path_(folder + "/canary") {
    std::ofstream(path_) << "unharmed";
    shm_ = shmget(key(), 4096, IPC_CREAT | 0666);
    listener_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    memcpy(at.sun_path + 1, name().data(), name().size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name().size());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
  }
  ~Bait() { shmctl(shm_, IPC_RMID, nullptr); }

  std::vector<std::string> Environment(const std::string& docker) const {
    return {"PROBE_CANARY=" + path_, "PROBE_DOCKER=" + docker, "PROBE_ABSTRACT=" + name(),
            "PROBE_PID=" + std::to_string(getpid()), "PROBE_SHM=" + std::to_string(key())};
  }

 private:
  static int key() { return 0x7000000 + getpid(); }
  static std::string name() { return "tidemill-bait-" + std::to_string(getpid()); }

  const std::string path_;
  int shm_ = -1;
  Fd listener_;
};

class EscapeTest : public DockerTest {
 protected:
  EscapeTest() : bait_(folder_), before_(Machine()) {}

  // What attempts would have changed.
  std::string Machine() const {
    std::string all = Read(folder_ + "/canary");
    for (const char* path :
         {"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
          "/proc/sys/kernel/panic", "/proc/sys/kernel/ctrl-alt-del",
          "/proc/sys/vm/overcommit_memory", "/proc/sys/user/max_user_namespaces", "/proc/swaps",
          "/proc/self/cgroup", "/proc/self/oom_score_adj"}) {
      all += std::string(path) + ": " + Read(path) + "\n";
    }
    // Only their names: how often they are used changes with what other tests do.
    std::istringstream modules(Read("/proc/modules"));
    std::set<std::string> names;
    for (std::string line; std::getline(modules, line);) {
      names.insert(line.substr(0, line.find(' ')));
    }
    for (const std::string& name : names) all += name + "\n";
    return all;
  }
  void ExpectUnharmed() {
    container_.reset();
    events_.gone.clear();
    RunUntilNothingIsLeft();
    RunUntilNoneIsMarked();
    EXPECT_EQ(FoldersLeft(), 0u);
    EXPECT_EQ(Machine(), before_);
    Recover();
    events_.ends.clear();
    Open();
    EXPECT_EQ(Print("echo alive"), "alive\n");
    container_.reset();
  }
  // Runs the probe as an item; the lines that it prints.
  std::vector<std::string> Probe(const std::string& what) {
    ItemRun run = Shell(++last_, "/probe " + what + "; true");
    run.env = bait_.Environment(docker().socket());
    const std::size_t before = events_.ends.size();
    container_->Run(run);
    RunUntilEnds(before + 1);
    std::istringstream text(LogOf(run.number));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  ContainerSpec ProbeSpec(const std::string& kind, const ContainerPolicy& policy) {
    ContainerSpec spec = SpecOf(kind);
    spec.policy = policy;
    return spec;
  }

  Bait bait_;
  const std::string before_;
};

INSTANTIATE_TEST_SUITE_P(Docker, EscapeTest, testing::Values(kMakeDocker));
INSTANTIATE_TEST_SUITE_P(Remapped, EscapeTest, testing::Values(kMakeRemappedDocker));

TEST_P(EscapeTest, NothingThatAnItemTriesGetsThrough) {
  constexpr std::size_t kAttempts = 190;  // that none is passed over unseen
  for (const ContainerPolicy& policy : {ContainerPolicy{}, kStrict}) {
    for (const std::string kind : {"probe", "probe-user"}) {
      SCOPED_TRACE(kind + (policy == kStrict ? ", strict" : ", by default"));
      OpenSpec(ProbeSpec(kind, policy));
      std::set<std::string> refused;
      for (const std::string& line : Probe("escape")) {
        if (line.starts_with("refused ")) refused.insert(line.substr(8, line.find(':') - 8));
        EXPECT_TRUE(line.starts_with("refused ")) << line;
      }
      EXPECT_GE(refused.size(), kAttempts);
      EXPECT_EQ(events_.gone, "");
      container_.reset();
    }
  }
  ExpectUnharmed();
}

TEST_P(EscapeTest, ABombOfProcessesEndsAtTheLimitAndTheContainerGoesOn) {
  ContainerSpec spec = ProbeSpec("probe", {});
  spec.limits.memory_bytes = std::int64_t{1} << 30;  // more than so many processes need
  OpenSpec(spec);
  const auto lines = Probe("fork");
  ASSERT_EQ(lines.size(), 1u);
  const int made = std::stoi(lines[0]);
  EXPECT_GT(made, 3000) << lines[0];
  EXPECT_LT(made, 4096) << lines[0];
  EXPECT_EQ(Print("echo next"), "next\n");
  ExpectUnharmed();
}

TEST_P(EscapeTest, ABombOfMemoryEndsTheItemAndNothingElse) {
  ContainerSpec spec = ProbeSpec("probe", {});
  spec.limits.memory_bytes = 64 << 20;
  OpenSpec(spec);
  container_->Run(Shell(++last_, "exec /probe memory"));
  holder().RunUntil([&] { return !events_.ends.empty() || !events_.gone.empty(); });
  if (events_.gone.empty()) {
    EXPECT_EQ(events_.ends[0].exit, 137);
  }
  ExpectUnharmed();
}

TEST_P(EscapeTest, MemoryFilesDescriptorsAndDumpsHaveLimits) {
  ContainerSpec spec = ProbeSpec("probe-user", {});
  spec.shm_bytes = 1 << 20;
  OpenSpec(spec);
  EXPECT_EQ(Probe("shm"), std::vector<std::string>{"1048576 bytes: No space left on device"});
  const auto files = Probe("files");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_LE(std::stoi(files[0]), 65'536);
  EXPECT_NE(files[0].find("Too many open files"), std::string::npos);
  container_->Run(Shell(++last_, "cd $TIDEMILL_SCRATCH; /probe core; echo $?; ls -A; ls /tmp"));
  const std::size_t before = events_.ends.size();
  RunUntilEnds(before + 1);
  EXPECT_EQ(LogOf(last_).find("core\n"), std::string::npos) << LogOf(last_);
  EXPECT_NE(LogOf(last_).find("134\n"), std::string::npos) << LogOf(last_);
  ExpectUnharmed();
}

TEST_P(EscapeTest, AFloodOfLogHarmsNobody) {
  OpenSpec(ProbeSpec("probe", {}));
  const auto lines = Probe("flood");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].size(), 1600u * 64 * 1024);
  events_.logs.clear();
  EXPECT_EQ(Print("echo next"), "next\n");
  ExpectUnharmed();
}

}  // namespace
}  // namespace tidemill
