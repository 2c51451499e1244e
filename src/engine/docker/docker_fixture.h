// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests against a real Docker Engine, whose socket is named by TIDEMILL_TEST_DOCKER.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/beside_test.h"
#include "base/fd.h"
#include "engine/channel/loop_testing.h"
#include "engine/docker/docker_engine.h"
#include "engine/engine_real_testing.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/unix_address.h"

namespace tidemill {

inline const ContainerPolicy kStrict{
    .no_capabilities = true, .read_only_root = true, .no_network = true};

// Throws, with what to do, if it is not set.
std::string FromEnvironment(const char* name);

inline std::string DockerSocket() { return FromEnvironment("TIDEMILL_TEST_DOCKER"); }

// tools/with_docker.py does it to the Engine.
inline void TellDocker(const std::string& what) {
  std::ofstream(FromEnvironment("TIDEMILL_TEST_DOCKER_DO")) << what << std::endl;
}

// No descriptor: nobody is there.
inline Fd ConnectTo(const std::string& path) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = UnixAddress::Of(path);
  if (!address) return Fd();
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  memcpy(at.sun_path, address->text().c_str(), address->text().size());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fd.Reset();
  return fd;
}

class DockerHolder : public LoopHolder {
 public:
  DockerHolder(const std::string& folder, const std::string& socket, const std::string& nft = "",
               std::chrono::seconds shut_every = std::chrono::seconds(60))
      : socket_(socket),
        engine_(std::make_unique<DockerEngine>(
            loop_, DockerEngineOptions{socket, folder, BesideTest("tidemill-init"), folder, nft,
                                       shut_every})) {}
  Engine& engine() override { return *engine_; }
  void DestroyEngine() override { engine_.reset(); }
  ContainerSpec Spec() const override {
    return {.job = {1},
            .image = "tidemill-test/alpine-like",
            .limits = {.millicpus = 1000, .memory_bytes = 256 << 20}};
  }
  ContainerSpec LoopSpec() const override {
    ContainerSpec spec = Spec();
    spec.image = "tidemill-test/loop";
    spec.loop = true;
    return spec;
  }
  std::string LoopProbe() const override { return "/loop-probe"; }
  AsioLoop& loop() { return loop_; }
  const std::string& socket() const { return socket_; }
  // Whether anybody is behind the socket.
  static bool Answers() { return static_cast<bool>(ConnectTo(DockerSocket())); }

 private:
  const std::string socket_;
  std::unique_ptr<DockerEngine> engine_;
};

inline const EngineMaker kMakeDocker = [](const std::string& folder) {
  return std::make_unique<DockerHolder>(folder, DockerSocket());
};
// An Engine that remaps users, in a network namespace that is not ours.
inline const EngineMaker kMakeRemappedDocker = [](const std::string& folder) {
  return std::make_unique<DockerHolder>(folder, FromEnvironment("TIDEMILL_TEST_DOCKER_REMAPPED"));
};

// A test with one container of a Docker Engine at a time.
class DockerTest : public RealEngineTest {
 protected:
  ContainerSpec SpecOf(const std::string& kind) {
    ContainerSpec spec = holder().Spec();
    spec.image = "tidemill-test/" + kind;
    return spec;
  }
  void OpenImage(const std::string& kind) { OpenSpec(SpecOf(kind)); }
  void OpenSpec(const ContainerSpec& spec) {
    auto opened = TryOpen(spec);
    ASSERT_TRUE(opened) << opened.error().reason;
    container_ = *std::move(opened);
  }
  // What one run of a shell command prints.
  std::string Print(const std::string& script) {
    const std::uint64_t number = ++last_;
    container_->Run(Shell(number, script));
    const std::size_t before = events_.ends.size();
    RunUntilEnds(before + 1);
    return LogOf(number);
  }
  // What the image makes of these.
  std::string PrintOwn(std::optional<std::vector<std::string>> entrypoint,
                       std::optional<std::vector<std::string>> command) {
    ItemRun run = ItemOf(++last_, {});
    run.entrypoint = std::move(entrypoint);
    run.command = std::move(command);
    container_->Run(run);
    const std::size_t before = events_.ends.size();
    RunUntilEnds(before + 1);
    return LogOf(run.number);
  }
  std::string Inspect() { return Docker("GET", "/containers/" + OnlyContainer() + "/json"); }
  std::string OnlyContainer() {
    for (const auto& each : std::filesystem::directory_iterator(folder_ + "/containers")) {
      return "tidemill-" + each.path().filename().string();
    }
    return "none";
  }
  DockerHolder& docker() { return static_cast<DockerHolder&>(holder()); }
  std::string Docker(const std::string& method, const std::string& target,
                     const std::string& sent = "") {
    std::string body;
    bool done = false;
    HttpClient client(docker().loop(), {.host = "docker", .unix_path = docker().socket()});
    HttpCall call{.method = method, .target = target, .body = sent};
    if (!sent.empty()) call.content_type = "application/json";
    client.Send(std::move(call), [&](Result<HttpResponse> answer) {
      body = answer ? answer->body : answer.error().reason;
      done = true;
    });
    holder().RunUntil([&] { return done; });
    return body;
  }

  std::uint64_t last_ = 0;  // the number of the last run
};

// A registry without images. Engines speak plain HTTP with those on loopback.
class FakeRegistry {
 public:
  explicit FakeRegistry(AsioLoop& loop)
      : server_(loop, {}, [this](HttpRequest request, HttpRespond respond) {
          if (request.path == "/v2/") return respond({.body = "{}"});
          ++asked_;
          if (denies_) {
            return respond({.status = 403,
                            .content_type = "application/json",
                            .body = R"({"errors":[{"code":"DENIED","message":"access denied"}]})"});
          }
          respond({.status = 404,
                   .content_type = "application/json",
                   .body = R"({"errors":[{"code":"MANIFEST_UNKNOWN",)"
                           R"("message":"manifest unknown"}]})"});
        }) {
    EXPECT_TRUE(server_.Start());
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  void Deny() { denies_ = true; }
  int manifests_asked() const { return asked_; }
  // An Engine asks for the head of a manifest, and then for the manifest itself.
  static int manifests_of_one_pull() { return 2; }

 private:
  bool denies_ = false;
  int asked_ = 0;
  HttpServer server_;
};

}  // namespace tidemill
