// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/docker/docker_api.h"
#include "engine/docker/image_words.h"
#include "engine/docker/pull_progress.h"
#include "engine/docker/registry_role.h"
#include "model/ids.h"
#include "model/image.h"
#include "net/asio_loop.h"
#include "net/http_client.h"
#include "wire/docker_json.h"

namespace tidemill {

// Brings images onto the machine, each by one pull however many wait for it. Loop thread only.
//
// A job that names a login must have shown once in this life of the agent that it may have the
// image, also if another job has brought it here: by a pull, which asks the registry for no more
// than the manifest if all the rest is here.
class DockerImages {
 public:
  using Done = std::function<void(Result<DockerImage>)>;
  struct Ask {
    std::string image;
    JobId job;
    std::optional<RegistryLogin> login = {};
  };

  // `role` may be null.
  DockerImages(AsioLoop& loop, DockerApi& api, RegistryRole role);
  ~DockerImages();

  // Pulls it if it is not here. kInvalid: it cannot be had under this name, or with this login.
  // `done` is never called from inside, and not after this object is gone.
  void Get(Ask ask, Done done);
  // How far the pull of an image is; empty: there is none.
  std::string PullState(const std::string& image) const;

 private:
  // Whoever has the same login waits for the same pull.
  struct PullKey {
    std::string image;
    std::string login;  // its digest; empty: none
    auto operator<=>(const PullKey&) const = default;
  };
  struct Waiter {
    JobId job;
    Done done;
  };
  // One pull, with a connection of its own: it may take half an hour.
  struct Pull {
    ImageName name = {};
    PullWho who = {};
    std::unique_ptr<HttpClient> client = {};
    std::vector<Waiter> waiting = {};
    std::string line = {};   // the last one, not yet whole
    std::string error = {};  // what the Engine said, if it did
    PullProgress progress = {};
    TimerId stall = TimerId::kNone;
  };
  struct Proof {
    JobId job;
    PullKey key;
    auto operator<=>(const Proof&) const = default;
  };

  static PullKey KeyOf(const Ask& ask);
  void Join(const PullKey& key, const ImageName& name, const Ask& ask, Done done);
  void AskRole(const PullKey& key, const std::string& host);
  void Begin(const PullKey& key);
  void OnPiece(const PullKey& key, std::string_view piece);
  static void OnLine(Pull& pull);
  void ArmStall(const PullKey& key);
  void OnPulled(const PullKey& key, Result<HttpResponse> answer);
  void Finish(const PullKey& key, const Result<DockerImage>& result);

  // Constant after construction.
  AsioLoop& loop_;
  DockerApi& api_;
  const RegistryRole role_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  // Loop thread only.
  std::map<PullKey, Pull> pulls_;
  std::set<Proof> proofs_;  // of jobs with a login
};

}  // namespace tidemill
