// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_network.h"

#include <string>
#include <utility>

namespace tidemill {
namespace {

using Done = std::function<void(Result<void>)>;

Result<void> Check(const Result<DockerNetwork>& found) {
  if (!found) return tl::unexpected(found.error());
  if (found->bridge == kDockerBridge && found->keeps_apart) return {};
  return Fail(Code::kUnavailable,
              std::string("the Docker network '") + kDockerNetwork + "' is not ours: it must be " +
                  "the bridge " + kDockerBridge + " with enable_icc=false; remove it with " +
                  "`docker network rm " + kDockerNetwork + "`, and it is made anew");
}

}  // namespace

void EnsureNetwork(DockerApi& api, Done done) {
  api.FindNetwork(kDockerNetwork, [&api, done = std::move(done)](auto found) {
    if (found || found.error().code != Code::kNotFound) return done(Check(found));
    const DockerNetwork wanted{.bridge = kDockerBridge, .keeps_apart = true};
    api.MakeNetwork(kDockerNetwork, wanted, [&api, done](Result<void> made) {
      if (made) return done({});
      // Of two that make it at once, one is refused, and finds what the other has made.
      api.FindNetwork(kDockerNetwork, [done, why = made.error()](auto again) {
        if (again) return done(Check(again));
        done(Fail(Code::kUnavailable, std::string("cannot make the Docker network '") +
                                          kDockerNetwork + "': " + why.reason));
      });
    });
  });
}

}  // namespace tidemill
