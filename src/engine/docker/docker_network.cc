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

// Of two that make it at once one is refused, perhaps before the other's can be found: it is looked
// for, and made, a few times over. Each round waits for the Engine, so these are a second or so.
constexpr int kRounds = 10;

void Ensure(DockerApi& api, int round, const Error& why, const Done& done) {
  if (round == kRounds) {
    return done(Fail(Code::kUnavailable, std::string("cannot make the Docker network '") +
                                             kDockerNetwork + "': " + why.reason));
  }
  api.FindNetwork(kDockerNetwork, [&api, round, done](auto found) {
    if (found || found.error().code != Code::kNotFound) return done(Check(found));
    const DockerNetwork wanted{.bridge = kDockerBridge, .keeps_apart = true};
    api.MakeNetwork(kDockerNetwork, wanted, [&api, round, done](Result<void> made) {
      if (made) return done({});
      Ensure(api, round + 1, made.error(), done);
    });
  });
}

}  // namespace

void EnsureNetwork(DockerApi& api, Done done) { Ensure(api, 0, {}, done); }

}  // namespace tidemill
