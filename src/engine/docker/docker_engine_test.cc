// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_engine.h"

#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"
#include "engine/engine_contract.h"
#include "engine/engine_real_contract.h"
#include "frame/frame.h"

namespace tidemill {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw std::runtime_error(std::string(name) + " is not set; run under tools/with_docker.py");
  }
  return value;
}

INSTANTIATE_TEST_SUITE_P(Docker, EngineTest, testing::Values(kMakeDocker));
INSTANTIATE_TEST_SUITE_P(Docker, RealEngineTest, testing::Values(kMakeDocker));
INSTANTIATE_TEST_SUITE_P(Remapped, EngineTest, testing::Values(kMakeRemappedDocker));
INSTANTIATE_TEST_SUITE_P(Remapped, RealEngineTest, testing::Values(kMakeRemappedDocker));

namespace {

class DockerEngineTest : public DockerTest {};

INSTANTIATE_TEST_SUITE_P(Docker, DockerEngineTest, testing::Values(kMakeDocker));

TEST_P(DockerEngineTest, NamesItsVersionAndEnforcesLimits) {
  EXPECT_TRUE(info_.name.starts_with("docker 2")) << info_.name;
  EXPECT_TRUE(info_.enforces);
}

TEST_P(DockerEngineTest, RunsAnImageThatHoldsNothingButAProgram) {
  OpenImage("scratch");
  EXPECT_EQ(PrintOwn(std::nullopt, std::nullopt), "7\n");
  EXPECT_EQ(PrintOwn(std::nullopt, {{"x", "y"}}), "7 x y\n");
  EXPECT_EQ(PrintOwn({{"/noop"}}, {{"5"}}), "5\n");
  EXPECT_EQ(PrintOwn({{"/bin/sh"}}, std::nullopt),
            "tidemill: cannot run '/bin/sh': No such file or directory\n");
  EXPECT_EQ(Exits(), (std::vector<int>{7, 7, 5, 127}));
}

TEST_P(DockerEngineTest, KeepsTheUserFolderAndEnvironmentOfAnImage) {
  for (const std::string kind : {"user", "named-user"}) {
    OpenImage(kind);
    EXPECT_EQ(Print("id -u; id -g; pwd; echo $COLOUR"), "1234\n1234\n/srv\nblue\n");
    EXPECT_EQ(Print("echo x > $TIDEMILL_SCRATCH/f && cat $TIDEMILL_SCRATCH/f"), "x\n");
    EXPECT_EQ(Print("touch /srv/f && echo ok"), "ok\n");
    EXPECT_EQ(PrintOwn(std::nullopt, std::nullopt), "entry cmd\n");
    EXPECT_EQ(PrintOwn(std::nullopt, {{"mine"}}), "entry mine\n");
    EXPECT_EQ(PrintOwn({{"/bin/echo", "e"}}, std::nullopt), "e\n");
    EXPECT_EQ(PrintOwn({{"/bin/echo", "e"}}, {{"c"}}), "e c\n");
    container_.reset();
  }
}

TEST_P(DockerEngineTest, RunsADebian) {
  OpenImage("debian-like");
  EXPECT_EQ(Print("dpkg-query -W -f '${Package}' dpkg; touch /opt/x && echo ' ok'"), "dpkg ok\n");
}

TEST_P(DockerEngineTest, SaysWhatIsWrongWithAnImage) {
  auto opened = TryOpen(SpecOf("no-such-user"));
  EXPECT_EQ(opened.error().code, Code::kInvalid);
  EXPECT_NE(opened.error().reason.find("unable to find user"), std::string::npos);
  ContainerSpec spec;
  EXPECT_EQ(TryOpen(spec).error().code, Code::kInvalid);
  spec.image = "no/../such";
  EXPECT_EQ(TryOpen(spec).error().code, Code::kInvalid);
  RunUntilNothingIsLeft();
  EXPECT_EQ(FoldersLeft(), 0u);
  OpenImage("nothing");
  EXPECT_EQ(PrintOwn(std::nullopt, std::nullopt),
            "tidemill: cannot run: name a command: the image has none of its own\n");
}

TEST_P(DockerEngineTest, PullsOnceAndSaysWhyItCannot) {
  FakeRegistry registry(static_cast<DockerHolder&>(holder()).loop());
  ContainerSpec spec = holder().Spec();
  spec.image = registry.host() + "/not/there:1";
  std::vector<Error> errors;
  for (int i = 0; i < 3; ++i) {
    engine().Open(spec, events_, [&](auto opened) { errors.push_back(opened.error()); });
  }
  holder().RunUntil([&] { return errors.size() == 3; });
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, Code::kInvalid);
    EXPECT_NE(error.reason.find(spec.image), std::string::npos) << error.reason;
    EXPECT_NE(error.reason.find("check its name"), std::string::npos) << error.reason;
  }
  EXPECT_EQ(registry.manifests_asked(), registry.manifests_of_one_pull());
  registry.Deny();
  spec.image = registry.host() + "/not/ours";
  auto opened = TryOpen(spec);
  EXPECT_EQ(opened.error().code, Code::kInvalid) << opened.error().reason;
  spec.image = "127.0.0.1:1/nobody/there";
  opened = TryOpen(spec);
  EXPECT_EQ(opened.error().code, Code::kUnavailable) << opened.error().reason;
  EXPECT_NE(opened.error().reason.find("127.0.0.1:1/nobody/there"), std::string::npos);
}

TEST_P(DockerEngineTest, ContainersHaveTheirLimitsAndNoMoreRightsThanTheyNeed) {
  ContainerSpec spec = SpecOf("scratch");
  spec.job = {42};
  spec.limits = {.millicpus = 500, .memory_bytes = 64 << 20};
  spec.shm_bytes = 1 << 20;
  auto opened = TryOpen(spec);
  ASSERT_TRUE(opened) << opened.error().reason;
  container_ = *std::move(opened);
  const std::string json = Inspect();
  for (const std::string part :
       {R"("AutoRemove":true)", R"("NanoCpus":500000000)", R"("Memory":67108864)",
        R"("MemorySwap":67108864)", R"("PidsLimit":4096)", R"("ShmSize":1048576)",
        R"("CapDrop":["NET_RAW","MKNOD"])", R"("SecurityOpt":["no-new-privileges"])",
        R"("Privileged":false)", R"("LogConfig":{"Type":"none")", R"("tidemill.job":"42")",
        R"("Test":["NONE"])", R"({"Name":"core","Hard":0,"Soft":0})",
        R"("RestartPolicy":{"Name":"no")", R"("Entrypoint":["/.tidemill/init"])"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in\n" << json;
  }
  EXPECT_EQ(json.find(R"("Health":)"), std::string::npos);
  EXPECT_EQ(json.find("docker.sock"), std::string::npos);
}

TEST_P(DockerEngineTest, AnItemCannotChangeWhatIsOurs) {
  Open();
  EXPECT_EQ(Print("(echo x > /.tidemill/run/y) 2>/dev/null || echo no"), "no\n");
  EXPECT_EQ(Print("(echo x > /.tidemill/init) 2>/dev/null || echo no"), "no\n");
}

// The test itself reaches the socket before init does.
TEST_P(DockerEngineTest, NobodyElseCanPlayInit) {
  Fd impostor;
  std::optional<Result<std::unique_ptr<Container>>> opened;
  engine().Open(holder().Spec(), events_, [&](auto got) { opened = std::move(got); });
  holder().RunUntil([&] {
    if (!impostor && FoldersLeft() == 1) {
      const std::string name = OnlyContainer().substr(std::string("tidemill-").size());
      impostor = ConnectTo(folder_ + "/containers/" + name + "/run/agent.sock");
      if (impostor) send(impostor.get(), frame::EncodeHello().data(), 20, MSG_NOSIGNAL);
    }
    return opened.has_value();
  });
  ASSERT_TRUE(impostor);
  ASSERT_TRUE(*opened) << opened->error().reason;
  container_ = **std::move(opened);
  EXPECT_EQ(Print("echo the real one"), "the real one\n");
  char byte = 0;
  EXPECT_LE(recv(impostor.get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_NE(errno, EAGAIN);
}

class KilledEngineTest : public DockerTest {};

INSTANTIATE_TEST_SUITE_P(DockerAlone, KilledEngineTest, testing::Values(kMakeDocker));

TEST_P(KilledEngineTest, GoesOnAfterTheEngineWasKilledAndStartedAgain) {
  Open();
  container_->Run(Shell(1, "sleep 1000; true"));
  RunUntilMarked();
  TellDocker("kill9");
  std::optional<Result<EngineInfo>> info;
  holder().RunUntil([&] { return !static_cast<DockerHolder&>(holder()).Answers(); });
  engine().Recover([&](auto got) { info = std::move(got); });
  holder().RunUntil([&] { return info.has_value(); });
  ASSERT_FALSE(*info);
  EXPECT_EQ(info->error().code, Code::kUnavailable);
  EXPECT_NE(info->error().reason.find("is it running"), std::string::npos);
  TellDocker("start");
  holder().RunUntil([&] { return !events_.gone.empty(); });
  EXPECT_TRUE(events_.ends.empty());
  container_.reset();
  events_.gone.clear();
  Recover();
  RunUntilNothingIsLeft();
  RunUntilNoneIsMarked();
  Open();
  EXPECT_EQ(Print("echo again"), "again\n");
  container_.reset();
  RunUntilNothingIsLeft();
  EXPECT_EQ(FoldersLeft(), 0u);
}

}  // namespace
}  // namespace tidemill
