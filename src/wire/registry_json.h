// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/image.h"

namespace tidemill {

// What the realm of an image registry answers: {"token":".."}, or "access_token" in its place.
// kInvalid: there is none, or none that may stand in a header field.
Result<std::string> ParseRegistryToken(std::string_view body);

// Where the next part of an image is.
struct ImageManifest {
  std::string config = {};    // the digest of its config; or, if it is an index,
  std::string manifest = {};  // of the manifest for linux on amd64, or else of the first
};
Result<ImageManifest> ParseImageManifest(std::string_view body);

// {"config":{"Env":["A=b"],"Labels":{"a":"b"}}}; what is not there is none.
Result<ImageConfig> ParseImageConfig(std::string_view body);

}  // namespace tidemill
