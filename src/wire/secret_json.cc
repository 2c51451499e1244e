// SPDX-License-Identifier: Apache-2.0
#include "wire/secret_json.h"

#include "base/bytes.h"
#include "base/limits.h"
#include "wire/json.h"

namespace tidemill {

std::string FormatSecretValues(const std::map<std::string, std::string>& secrets) {
  std::string values = "{";
  for (const auto& [name, value] : secrets) json::AppendText(values, name, EncodeBase64(value));
  std::string out = "{";
  json::AppendValue(out, "secrets", values + "}");
  return out + "}";
}

Result<std::map<std::string, std::string>> ParseSecretValues(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  std::map<std::string, std::string> secrets;
  const json::Value* values = fields.Find("secrets");
  if (values == nullptr) return secrets;
  const json::Path path = fields.In("secrets");
  TIDEMILL_TRY(const json::Fields inner, json::Fields::Of(*values, path));
  constexpr std::size_t kMost = limits::kSecretsPerJob + 1;  // and its image's login
  if (values->size() > kMost) {
    return json::Wrong(path, "more than a job may name");
  }
  for (const auto& entry : values->items()) {
    TIDEMILL_TRY(secrets[entry.key()], inner.Bytes(entry.key(), limits::kSecretBytes));
  }
  return secrets;
}

}  // namespace tidemill
