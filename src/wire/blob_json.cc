// SPDX-License-Identifier: Apache-2.0
#include "wire/blob_json.h"

#include <algorithm>

#include "wire/json.h"

namespace tidemill {

std::string FormatBlob(const Blob& blob) {
  std::string out = "{";
  json::AppendText(out, "sha256", blob.sha256);
  json::AppendNumber(out, "bytes", blob.bytes);
  return out + "}";
}

bool IsSha256Text(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view BlobNameOf(std::string_view text) {
  constexpr std::string_view kScheme = "blob:";
  if (!text.starts_with(kScheme) || !IsSha256Text(text.substr(kScheme.size()))) return "";
  return text.substr(kScheme.size());
}

}  // namespace tidemill
