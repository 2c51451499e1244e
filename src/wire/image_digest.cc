// SPDX-License-Identifier: Apache-2.0
#include "wire/image_digest.h"

#include "model/image.h"

namespace tidemill::json {
namespace {

constexpr std::size_t kDigestBytes = 71;  // "sha256:" and 64 digits

}  // namespace

Result<std::string> ReadImageDigest(const Fields& fields, std::string_view name) {
  if (fields.Find(name) == nullptr) return std::string();
  TIDEMILL_TRY(const std::string_view digest, fields.Text(name, {.most_bytes = kDigestBytes}));
  if (!IsImageDigest(digest)) return Wrong(fields.In(name), "must be sha256: and 64 digits");
  return std::string(digest);
}

}  // namespace tidemill::json
