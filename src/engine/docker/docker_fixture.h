// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests against a real Docker Engine, whose socket is named by TIDEMILL_TEST_DOCKER.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "base/fd.h"
#include "engine/channel/loop_testing.h"
#include "engine/docker/docker_engine.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/unix_address.h"

namespace tidemill {

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
  explicit DockerHolder(const std::string& folder)
      : engine_(std::make_unique<DockerEngine>(
            loop_, DockerEngineOptions{DockerSocket(), folder, TIDEMILL_INIT, folder})) {}
  Engine& engine() override { return *engine_; }
  void DestroyEngine() override { engine_.reset(); }
  ContainerSpec Spec() const override {
    return {.job = {1},
            .image = "tidemill-test/alpine-like",
            .limits = {.millicpus = 1000, .memory_bytes = 256 << 20}};
  }
  AsioLoop& loop() { return loop_; }
  // Whether anybody is behind the socket.
  static bool Answers() { return static_cast<bool>(ConnectTo(DockerSocket())); }

 private:
  std::unique_ptr<DockerEngine> engine_;
};

inline const EngineMaker kMakeDocker = [](const std::string& folder) {
  return std::make_unique<DockerHolder>(folder);
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
