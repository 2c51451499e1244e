// SPDX-License-Identifier: Apache-2.0
#include "wire/pin_json.h"

#include "wire/image_digest.h"
#include "wire/json.h"

namespace tidemill {

using json::Fields;
using json::Value;

std::string FormatPin(std::string_view digest) {
  std::string out = "{";
  json::AppendText(out, "digest", digest);
  return out.append("}");
}

Result<std::string> ParsePin(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  if (fields.Find("digest") == nullptr) return json::Wrong(fields.In("digest"), "is missing");
  return json::ReadImageDigest(fields, "digest");
}

}  // namespace tidemill
