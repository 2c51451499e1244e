// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// What was resolved for an environment: kept beside it, so that the next image is made of the same.
// As text it is a file of pip's, with two lines before it that pip takes for comments.
struct EnvLock {
  std::string
      inputs;        // the SHA-256 of what it was resolved from: another one, and it is out of date
  std::string base;  // the image that it stands on; with its digest, if a registry has told one
  std::string pins;  // "numpy==1.26.4 --hash=sha256:12" a line
  bool operator==(const EnvLock&) const = default;
};

inline constexpr const char* kEnvLockFile = "tidemill-env.lock";

std::string FormatEnvLock(const EnvLock& lock);
// kInvalid: it is no lock of ours.
Result<EnvLock> ParseEnvLock(std::string_view text);

}  // namespace tidemill
