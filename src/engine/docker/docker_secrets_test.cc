// SPDX-License-Identifier: Apache-2.0
// Where secrets of a container are, and where they are not.
#include <filesystem>

#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"
#include "engine/engine_real_testing.h"

namespace tidemill {
namespace {

class DockerSecretsTest : public RealEngineTest {
 protected:
  // Made at run time, so that it is in no file of the test itself.
  DockerSecretsTest() : canary_("canary-" + folder_.substr(folder_.size() - 6) + "-value") {}

  void OpenImage(const std::string& kind) {
    ContainerSpec spec = holder().Spec();
    spec.image = "tidemill-test/" + kind;
    spec.secret_files = true;
    auto opened = TryOpen(spec);
    ASSERT_TRUE(opened) << opened.error().reason;
    container_ = *std::move(opened);
  }
  ItemRun WithSecrets(ItemRun run) const {
    run.env.push_back("TOKEN=" + canary_);
    run.secret_files = {{"key", canary_ + "\n"}};
    return run;
  }
  std::string Container() const {
    for (const auto& each : std::filesystem::directory_iterator(folder_ + "/containers")) {
      return "/containers/tidemill-" + each.path().filename().string();
    }
    return "none";
  }
  std::string Ask(const std::string& target) {
    std::string body;
    bool done = false;
    HttpClient client(static_cast<DockerHolder&>(holder()).loop(),
                      {.host = "docker", .unix_path = DockerSocket()});
    client.Send({.method = "GET", .target = target}, [&](Result<HttpResponse> answer) {
      EXPECT_EQ(answer ? answer->status : 0, 200) << target;
      body = answer ? answer->body : "";
      done = true;
    });
    holder().RunUntil([&] { return done; });
    return body;
  }
  void ExpectNowhere(const std::string& what, const std::string& text) const {
    EXPECT_FALSE(text.empty()) << what;
    EXPECT_EQ(text.find(canary_), std::string::npos) << what;
  }
  // Which file of each process of this machine shows it.
  std::vector<std::string> ShownBy(const std::string& file) const {
    std::vector<std::string> shown;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
      const std::string name = each.path().filename();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      if (Read(each.path() / file).find(canary_) == std::string::npos) continue;
      shown.push_back(Read(each.path() / "cmdline"));
    }
    return shown;
  }

  const std::string canary_;
};

INSTANTIATE_TEST_SUITE_P(Docker, DockerSecretsTest, testing::Values(kMakeDocker));

TEST_P(DockerSecretsTest, AreSeenByTheItemAloneAndLeaveNothingBehind) {
  OpenImage("alpine-like");
  const std::string have = "[ \"$TOKEN\" = \"$(cat $TIDEMILL_SECRETS/key)\" ] && echo same; ";
  container_->Run(WithSecrets(Shell(1, have + "sleep 1000; true")));
  holder().RunUntil([&] { return LogOf(1) == "same\n"; });

  ExpectNowhere("inspect", Ask(Container() + "/json"));
  ExpectNowhere("top", Ask(Container() + "/top?ps_args=-ef"));
  EXPECT_EQ(ShownBy("cmdline"), std::vector<std::string>{});
  // The item has it in its environment, and nobody else does: not init, and not what started it.
  const pid_t init = Init();
  ASSERT_GT(init, 1);
  ExpectNowhere("init", Read("/proc/" + std::to_string(init) + "/environ"));
  for (const std::string& shown : ShownBy("environ")) {
    EXPECT_EQ(shown.find("tidemill-init"), std::string::npos);
    EXPECT_TRUE(shown.find(mark_) != shown.npos || shown.find("sleep") != shown.npos) << shown;
  }
  EXPECT_FALSE(ShownBy("environ").empty());  // so that the search would find it

  container_->Stop(1);
  RunUntilEnds(1);
  EXPECT_EQ(ShownBy("environ"), std::vector<std::string>{});
  ExpectNowhere("inspect after it", Ask(Container() + "/json"));
  ExpectNowhere("what it changed", Ask(Container() + "/changes"));
  ExpectNowhere("its file system", Ask(Container() + "/export"));
  EXPECT_EQ(Ask(Container() + "/changes").find("key"), std::string::npos);
}

TEST_P(DockerSecretsTest, AreInMemoryThatRunsNothingAndIsSmall) {
  OpenImage("alpine-like");
  container_->Run(WithSecrets(Shell(1, "grep ' /run/tidemill/secrets ' /proc/mounts")));
  RunUntilEnds(1);
  const std::string& mount = LogOf(1);
  for (const char* part : {"tmpfs", "noexec", "nosuid", "nodev", "size=1024k"}) {
    EXPECT_NE(mount.find(part), std::string::npos) << part << " in " << mount;
  }
}

TEST_P(DockerSecretsTest, AreThereForAnyUserAndImage) {
  for (const std::string kind : {"user", "named-user"}) {
    OpenImage(kind);
    ItemRun run = WithSecrets(Shell(
        1,
        "cd $TIDEMILL_SECRETS && stat -c '%a %u' . key && [ $TOKEN = $(cat key) ] && ls -A .. | "
        "wc -l"));
    container_->Run(run);
    container_->Run(Shell(2, "ls -A /run/tidemill/secrets | wc -l"));
    RunUntilEnds(2);
    EXPECT_EQ(LogOf(1), "700 1234\n600 1234\n1\n") << kind;
    EXPECT_EQ(LogOf(2), "0\n") << kind;
    container_.reset();
    events_ = {};
  }
  // Without a shell: that it is started says that its file could be written.
  OpenImage("scratch");
  ItemRun run = WithSecrets(ItemOf(1, {}));
  run.command = std::nullopt;
  container_->Run(run);
  RunUntilEnds(1);
  EXPECT_EQ(Exits(), std::vector<int>{7});
}

TEST_P(DockerSecretsTest, OfAJobWithoutFilesNeedNoPlace) {
  Open();
  EXPECT_EQ(Ask(Container() + "/json").find("/run/tidemill/secrets"), std::string::npos);
  ItemRun run = Shell(1, "[ -n \"$TOKEN\" ] && ls /run/tidemill 2>/dev/null || echo none");
  run.env.push_back("TOKEN=" + canary_);
  container_->Run(run);
  RunUntilEnds(1);
  EXPECT_EQ(LogOf(1), "none\n");
}

}  // namespace
}  // namespace tidemill
