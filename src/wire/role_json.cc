// SPDX-License-Identifier: Apache-2.0
#include "wire/role_json.h"

#include "wire/cloud_json.h"
#include "wire/json.h"

namespace tidemill {
namespace {

// As much as init takes.
constexpr std::size_t kKeysBytes = 32 * 1024;
constexpr std::size_t kSecretsMost = 4;
constexpr std::int64_t kLongestS = 86'400;

}  // namespace

std::string FormatRoleKeys(const RoleKeys& keys) {
  std::string out = "{";
  json::AppendText(out, "keys", keys.document);
  json::AppendStrings(out, "secrets", keys.secrets);
  json::AppendNumber(out, "ask_again_s", keys.ask_again.count());
  return out + "}";
}

Result<RoleKeys> ParseRoleKeys(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  RoleKeys keys;
  TIDEMILL_TRY(keys.document, fields.Text("keys", {.most_bytes = kKeysBytes}));
  TIDEMILL_TRY(keys.secrets,
               json::ReadStrings(
                   fields, "secrets", kSecretsMost,
                   [](const std::string& secret) { return !secret.empty(); }, "must be strings"));
  TIDEMILL_TRY(const std::int64_t again,
               fields.Int("ask_again_s", {.least = 0, .most = kLongestS}));
  keys.ask_again = std::chrono::seconds(again);
  return keys;
}

std::string FormatAwsRole(const AwsRoleAnswer& answer) {
  std::string out = "{";
  json::AppendText(out, "AccessKeyId", answer.access_key);
  json::AppendText(out, "SecretAccessKey", answer.secret_key);
  json::AppendText(out, "Token", answer.token);
  json::AppendText(out, "Expiration", answer.expiration);
  return out + "}";
}

std::string FormatGenerateToken(std::int64_t life_s) {
  std::string out = "{";
  json::AppendStrings(out, "scope", {"https://www.googleapis.com/auth/cloud-platform"});
  json::AppendText(out, "lifetime", std::to_string(life_s) + "s");
  return out + "}";
}

Result<GeneratedToken> ParseGeneratedToken(std::string_view body) {
  const auto value = json::Parse(body);
  if (!value) return Fail(Code::kInvalid, "the answer of Google is not JSON");
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(*value, {}));
  GeneratedToken made;
  TIDEMILL_TRY(made.token, fields.Text("accessToken", {.most_bytes = kKeysBytes / 2}));
  TIDEMILL_TRY(const std::string_view expires, fields.Text("expireTime", {.most_bytes = 64}));
  const auto expires_ms = ParseCloudTime(expires);
  if (!expires_ms) return Fail(Code::kInvalid, "the answer of Google has no time of its end");
  made.expires_ms = *expires_ms;
  return made;
}

std::string FormatGoogleRole(const std::string& email, const GeneratedToken& made) {
  std::string out = "{";
  json::AppendText(out, "access_token", made.token);
  json::AppendNumber(out, "expires_s", made.expires_ms / 1000);
  json::AppendText(out, "email", email);
  return out + "}";
}

}  // namespace tidemill
