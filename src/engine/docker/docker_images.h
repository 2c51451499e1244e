// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/docker/docker_api.h"
#include "model/image.h"
#include "net/asio_loop.h"
#include "net/http_client.h"
#include "wire/docker_json.h"

namespace tidemill {

// Brings images onto the machine, each by one pull however many wait for it. Loop thread only.
class DockerImages {
 public:
  using Done = std::function<void(Result<DockerImage>)>;

  DockerImages(AsioLoop& loop, DockerApi& api);
  ~DockerImages();

  // Pulls it if it is not here. kInvalid: it cannot be had under this name. `done` is never called
  // from inside, and not after this object is gone.
  void Get(const std::string& image, Done done);

 private:
  // One pull, with a connection of its own: it may take half an hour.
  struct Pull {
    std::unique_ptr<HttpClient> client;
    std::vector<Done> waiting;
    std::string line;   // the last one, not yet whole
    std::string error;  // what the Engine said, if it did
    TimerId stall = TimerId::kNone;
  };

  void Begin(const std::string& image, const ImageName& name, Pull& pull);
  void OnPiece(const std::string& image, std::string_view piece);
  void ArmStall(const std::string& image);
  void OnPulled(const std::string& image, Result<HttpResponse> answer);
  void Finish(const std::string& image, const Result<DockerImage>& result);

  // Constant after construction.
  AsioLoop& loop_;
  DockerApi& api_;
  // Loop thread only.
  std::map<std::string, Pull> pulls_;  // by image
};

}  // namespace tidemill
