// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cloud/world.h"
#include "net/asio_loop.h"

namespace tidemill {

// One value of a machine's metadata.
struct MetadataValue {
  std::string text;
  std::string etag = {};  // of gcp: which state of the value it is
};

// What its cloud tells a machine of itself. Loop thread only. Nothing survives a restart.
class Metadata {
 public:
  using Done = std::function<void(Result<std::optional<MetadataValue>>)>;

  virtual ~Metadata() = default;  // calls under way are dropped: their `done` does not come
  // The value at a path, which may have a query; nothing: there is none. Calls `done` once, never
  // from inside.
  //   kUnavailable  no answer, or none that is one
  //   kForbidden    it does not tell
  virtual void Get(const std::string& path, Done done) = 0;
};

// EC2, by version 2 only: a token is asked for first, kept, and renewed in time. Paths are below
// /latest/. kInvalid: the world says that there is none, or where it must not be.
Result<std::unique_ptr<Metadata>> OpenEc2Metadata(AsioLoop& loop, const CloudWorld& world);

// Google Compute Engine. Paths are below /computeMetadata/v1/. kInvalid: as above.
Result<std::unique_ptr<Metadata>> OpenGceMetadata(AsioLoop& loop, const CloudWorld& world);

// By the name of the cloud: "aws" or "gcp".
Result<std::unique_ptr<Metadata>> OpenMetadata(const std::string& cloud, AsioLoop& loop,
                                               const CloudWorld& world);

}  // namespace tidemill
