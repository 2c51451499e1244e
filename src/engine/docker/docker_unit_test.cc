// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "engine/docker/cgroup_memory.h"
#include "engine/docker/docker_api.h"
#include "engine/docker/image_words.h"

namespace tidemill {
namespace {

using Words = std::vector<std::string>;

TEST(ComposeArgv, DoesAsDockerDoes) {
  struct Case {
    Words image_entrypoint, image_command;
    std::optional<Words> entrypoint, command;
    Words argv;
  };
  const Case cases[] = {
      {{}, {"c"}, {}, {}, {"c"}},
      {{"e"}, {}, {}, {}, {"e"}},
      {{"e"}, {"c"}, {}, {}, {"e", "c"}},
      {{"e"}, {"c"}, {}, Words{"x", "y"}, {"e", "x", "y"}},
      {{}, {"c"}, {}, Words{"x"}, {"x"}},
      {{"e"}, {"c"}, Words{"n"}, {}, {"n"}},
      {{"e"}, {"c"}, Words{"n"}, Words{"x"}, {"n", "x"}},
      {{"e"}, {"c"}, Words{}, Words{"x"}, {"x"}},
      {{"e"}, {"c"}, {}, Words{}, {"e"}},
      {{}, {}, Words{"n"}, {}, {"n"}},
  };
  for (const Case& each : cases) {
    const DockerImage image{"id", each.image_entrypoint, each.image_command};
    EXPECT_EQ(*ComposeArgv(image, each.entrypoint, each.command), each.argv);
  }
  EXPECT_EQ(ComposeArgv({}, {}, {}).error().code, Code::kInvalid);
  EXPECT_EQ(ComposeArgv({"id", {}, {"c"}}, Words{}, {}).error().code, Code::kInvalid);
}

TEST(PullError, TellsWhatWillNeverWorkFromWhatMay) {
  const std::pair<const char*, Code> cases[] = {
      {"manifest for a:1 not found: manifest unknown", Code::kInvalid},
      {"pull access denied for a, repository does not exist or may require 'docker login'",
       Code::kInvalid},
      {"unauthorized: authentication required", Code::kInvalid},
      {"no matching manifest for linux/arm64/v8 in the manifest list entries", Code::kInvalid},
      {"Get https://r/v2/: dial tcp: lookup r on 1.1.1.1:53: no such host", Code::kUnavailable},
      {"Get https://r/v2/: net/http: TLS handshake timeout", Code::kUnavailable},
      {"toomanyrequests: You have reached your pull rate limit", Code::kUnavailable},
      {"write /var/lib/docker: no space left on device", Code::kUnavailable},
  };
  for (const auto& [message, code] : cases) {
    const Error error = PullError("a:1", message);
    EXPECT_EQ(error.code, code) << message;
    EXPECT_NE(error.reason.find("'a:1'"), std::string::npos);
  }
}

TEST(PullError, SaysWhatToDoAboutALogin) {
  const char* const message = "Head \"http://h:5000/v2/a/manifests/1\": no basic auth credentials";
  const std::string none = PullError("h:5000/a:1", message).reason;
  EXPECT_NE(none.find("registry h:5000 wants a login"), none.npos) << none;
  EXPECT_NE(none.find("image_login"), none.npos) << none;
  const RegistryLogin login{"me", "hunter2!"};
  const Error wrong =
      PullError("h:5000/a:1", "unauthorized: authentication required", {.login = login});
  EXPECT_EQ(wrong.code, Code::kInvalid);
  EXPECT_NE(wrong.reason.find("registry h:5000 refuses the login"), wrong.reason.npos)
      << wrong.reason;
}

TEST(PullError, SaysWhatToDoAboutARole) {
  const char* const message = "unauthorized: authentication required";
  const PullWho refused{.login = RegistryLogin{"AWS", "token"}, .by_role = true};
  const std::string role = PullError("h:5000/a:1", message, refused).reason;
  EXPECT_NE(role.find("refuses this machine's role"), role.npos) << role;
  const std::string none = PullError("h:5000/a:1", message, {.no_role_for = "no keys"}).reason;
  EXPECT_NE(none.find("this machine's role gives none: no keys"), none.npos) << none;
}

TEST(DigestOf, IsWhatTheRegistryOfTheNameCallsIt) {
  const std::string a = "sha256:" + std::string(64, 'a');
  const std::string b = "sha256:" + std::string(64, 'b');
  DockerImage image;
  EXPECT_EQ(DigestOf({"h:5000/x", "1"}, image), "");
  image.digests = {"other/x@" + a, "h:5000/x@" + b, "busybox@" + a, "broken", "h:5000/x@sha256:1"};
  EXPECT_EQ(DigestOf({"h:5000/x", "1"}, image), b);
  EXPECT_EQ(DigestOf({"docker.io/library/busybox", "1"}, image), a);
  EXPECT_EQ(DigestOf({"h:5000/y", "1"}, image), "");
}

TEST(PullError, ShowsNoLoginThatARegistryHasSaidAgain) {
  // "bWU6aHVudGVyMiE=" is me:hunter2!
  const std::string reason =
      PullError("a:1", "denied: who is hunter2!hunter2! by Basic bWU6aHVudGVyMiE=?",
                {.login = RegistryLogin{"me", "hunter2!"}})
          .reason;
  EXPECT_EQ(reason.find("hunter2"), reason.npos) << reason;
  EXPECT_EQ(reason.find("bWU6"), reason.npos) << reason;
  EXPECT_NE(reason.find("who is ****** by Basic ***?"), reason.npos) << reason;
  EXPECT_NE(PullError("a:1", "denied", {.login = RegistryLogin{"me", "d"}}).reason.find("denied"),
            reason.npos);
}

TEST(RegistryAuth, IsAHeaderForTheEngine) {
  // Both alphabets of base64 would differ here.
  const std::string text = RegistryAuth({"h:5000/a", "1"}, {"me", "~~~~>>>>~"});
  EXPECT_EQ(text.find_first_of("+/"), text.npos);
  std::string standard = text;
  for (char& c : standard) c = c == '-' ? '+' : c == '_' ? '/' : c;
  EXPECT_EQ(DecodeBase64(standard),
            R"({"username":"me","password":"~~~~>>>>~","serveraddress":"h:5000"})");
  EXPECT_NE(text, standard);
  const std::string hub = RegistryAuth({"busybox", "1"}, {"me", "x"});
  EXPECT_NE(DecodeBase64(hub)->find("https://index.docker.io/v1/"), std::string::npos);
}

TEST(StartError, BlamesTheImageOnlyForWhatIsItsOwn) {
  EXPECT_EQ(StartError(500, "exec /.tidemill/init: exec format error").code, Code::kInvalid);
  EXPECT_EQ(StartError(500, "unable to find user x: no matching entries").code, Code::kInvalid);
  EXPECT_EQ(StartError(400, "whatever").code, Code::kInvalid);
  EXPECT_EQ(StartError(500, "no space left on device").code, Code::kUnavailable);
  // A device that has gone since it was looked at.
  for (const char* gone :
       {"OCI runtime create failed: tidemill-runtime: a.b/c=0: the device node /dev/x is not there",
        "could not select device driver \"nvidia\" with capabilities: [[gpu]]",
        "CDI device injection failed: unresolvable CDI devices a.b/c=0",
        "error gathering device information while adding custom device \"/dev/x\""}) {
    EXPECT_EQ(StartError(400, gone).code, Code::kUnavailable) << gone;
  }
}

TEST(NegotiateApi, SpeaksNoNewerVersionThanItKnowsAndRefusesOldOnes) {
  EXPECT_EQ(*NegotiateApi({"20.10.24", "1.41"}), "1.41");
  EXPECT_EQ(*NegotiateApi({"27.0", "1.47"}), "1.47");
  EXPECT_EQ(*NegotiateApi({"99", "1.99"}), "1.47");
  for (const char* old : {"1.40", "1.9", "2.0", "", "1.", "1.x"}) {
    EXPECT_EQ(NegotiateApi({"19.03", old}).error().code, Code::kUnavailable) << old;
  }
  const std::string reason = NegotiateApi({"19.03", "1.40"}).error().reason;
  EXPECT_NE(reason.find("1.40"), std::string::npos);
  EXPECT_NE(reason.find("1.41"), std::string::npos);
}

class CgroupMemoryTest : public testing::Test {
 protected:
  CgroupMemoryTest() {
    char name[] = "/tmp/tidemill-cgroup-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~CgroupMemoryTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = folder_ + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  std::optional<CgroupMemory> Of(pid_t pid) {
    return CgroupMemory::Of(pid, {folder_ + "/proc", folder_ + "/cgroup"});
  }
  std::string folder_;
};

TEST_F(CgroupMemoryTest, ReadsVersionOneAndSetsItBack) {
  Write("proc/7/cgroup", "5:devices:/d\n4:memory:/docker/abc\n0::/\n");
  const std::string file = "cgroup/memory/docker/abc/memory.max_usage_in_bytes";
  Write(file, "123\n");
  auto memory = Of(7);
  ASSERT_TRUE(memory);
  Write(file, "4567890\n");
  EXPECT_EQ(memory->TakePeak(), 4567890);
  Write(file, "99\n");
  EXPECT_EQ(memory->TakePeak(), 99);
}

TEST_F(CgroupMemoryTest, ReadsVersionTwo) {
  Write("proc/7/cgroup", "0::/system.slice/docker-abc.scope\n");
  const std::string file = "cgroup/system.slice/docker-abc.scope/memory.peak";
  Write(file, "1\n");
  auto memory = Of(7);
  ASSERT_TRUE(memory);
  Write(file, "77\n");
  EXPECT_EQ(memory->TakePeak(), 77);
}

TEST_F(CgroupMemoryTest, IsAbsentWhereItCannotBeHad) {
  EXPECT_FALSE(Of(7));
  Write("proc/7/cgroup", "0::/none\n");
  EXPECT_FALSE(Of(7));
  Write("proc/7/cgroup", "4:memory:/../../etc\n");
  EXPECT_FALSE(Of(7));
  Write("proc/7/cgroup", "nonsense\n:\n\n");
  EXPECT_FALSE(Of(7));
}

}  // namespace
}  // namespace tidemill
