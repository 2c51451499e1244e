// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/world.h"
#include "model/image.h"
#include "net/asio_loop.h"

namespace tidemill {

// A cloud's registry of images.
struct CloudRegistry {
  enum class Kind { kEcr, kGoogle };
  Kind kind = Kind::kEcr;
  std::string region = {};  // of ECR
  bool fips = false;        // of ECR: by its endpoints for the United States' government
  bool operator==(const CloudRegistry&) const = default;
};

// Which one a host is: 123456789012.dkr.ecr.eu-west-1.amazonaws.com, europe-docker.pkg.dev, gcr.io
// and the like. Nothing: it is none. Strict, because keys are shown to whom the name points.
std::optional<CloudRegistry> CloudRegistryOf(std::string_view host);
// "aws:REGION" or "google", as people name the registry that a host of another name stands for.
// kInvalid: anything else.
Result<CloudRegistry> ParseCloudRegistry(std::string_view text);

struct RegistryRolesOptions {
  CloudWorld world = {};
  // Hosts that stand for a cloud's registry under another name.
  std::map<std::string, CloudRegistry> hosts = {};
};

// The login to a cloud's registries by what this machine may do there: its role, or whatever its
// credentials are. Logins are kept and renewed in time, with one call at a time for each registry;
// errors are not kept. Loop thread only. Nothing survives a restart.
class RegistryRoles {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  RegistryRoles(AsioLoop& loop, RegistryRolesOptions options);
  // Calls under way are dropped: their `done` does not come.
  ~RegistryRoles();

  // Calls `done` once, never from inside LoginFor. `host` is as an image names it, with its port.
  // Nothing: the host is no such registry. Otherwise:
  //   kNobody       the machine has no role, and there are no credentials
  //   kForbidden    the cloud refuses
  //   kInvalid      credentials or an endpoint are wrong
  //   kUnavailable  no answer: try again later
  void LoginFor(const std::string& host, Done<std::optional<RegistryLogin>> done);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tidemill
