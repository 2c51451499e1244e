// SPDX-License-Identifier: Apache-2.0
#include "wire/registry_json.h"

#include <algorithm>

#include "wire/json.h"

namespace tidemill {
namespace {

// Those of clouds are some thousands.
constexpr std::size_t kRegistryTokenBytes = 16 << 10;

// The digest in an object's field; empty if it has none.
std::string DigestIn(const json::Value& object) {
  const auto digest = object.is_object() ? object.find("digest") : object.end();
  if (digest == object.end() || !digest->is_string()) return "";
  auto text = digest->get<std::string>();
  return IsImageDigest(text) ? text : "";
}

bool IsForUs(const json::Value& manifest) {
  const auto platform = manifest.find("platform");
  return platform != manifest.end() && platform->is_object() &&
         platform->value("os", json::Value()) == "linux" &&
         platform->value("architecture", json::Value()) == "amd64";
}

std::string ManifestIn(const json::Value& index) {
  std::string first;
  for (const json::Value& manifest : index) {
    const std::string digest = DigestIn(manifest);
    if (digest.empty()) continue;
    if (IsForUs(manifest)) return digest;
    if (first.empty()) first = digest;
  }
  return first;
}

}  // namespace

Result<ImageManifest> ParseImageManifest(std::string_view body) {
  TIDEMILL_TRY(const json::Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  ImageManifest manifest;
  if (const json::Value* config = fields.Find("config")) manifest.config = DigestIn(*config);
  const json::Value* index = fields.Find("manifests");
  if (index != nullptr && index->is_array()) manifest.manifest = ManifestIn(*index);
  if (manifest.config.empty() && manifest.manifest.empty()) {
    return Fail(Code::kInvalid, "neither a manifest nor an index");
  }
  return manifest;
}

Result<ImageConfig> ParseImageConfig(std::string_view body) {
  TIDEMILL_TRY(const json::Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  ImageConfig config;
  const json::Value* inner = fields.Find("config");
  if (inner == nullptr || !inner->is_object()) return config;
  if (const auto env = inner->find("Env"); env != inner->end() && env->is_array()) {
    for (const json::Value& one : *env) {
      if (one.is_string()) config.env.push_back(one.get<std::string>());
    }
  }
  if (const auto labels = inner->find("Labels"); labels != inner->end() && labels->is_object()) {
    for (const auto& [name, one] : labels->items()) {
      if (one.is_string()) config.labels[name] = one.get<std::string>();
    }
  }
  return config;
}

Result<std::string> ParseRegistryToken(std::string_view body) {
  TIDEMILL_TRY(const json::Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  const char* const name = fields.Find("token") != nullptr ? "token" : "access_token";
  TIDEMILL_TRY(const std::string_view token,
               fields.Text(name, {.most_bytes = kRegistryTokenBytes}));
  const bool is_plain = !token.empty() && std::all_of(token.begin(), token.end(),
                                                      [](char c) { return c > ' ' && c < 127; });
  if (!is_plain) return json::Wrong(fields.In(name), "is no token");
  return std::string(token);
}

}  // namespace tidemill
