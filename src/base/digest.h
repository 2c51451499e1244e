// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tidemill {

// The SHA-256 of `bytes`: 32 raw bytes.
std::string Sha256(std::string_view bytes);
// The same of bytes that come piece by piece.
class Sha256Stream {
 public:
  Sha256Stream();
  void Add(std::string_view bytes);
  // Once, at the end.
  std::string Finish();

 private:
  std::shared_ptr<void> context_;
};
// The HMAC of `bytes` with SHA-256: 32 raw bytes.
std::string HmacSha256(std::string_view key, std::string_view bytes);

// Two digits a byte, in lower case.
std::string Hex(std::string_view bytes);

}  // namespace tidemill
