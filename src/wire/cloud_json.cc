// SPDX-License-Identifier: Apache-2.0
#include "wire/cloud_json.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "wire/json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Value;

// As long as a line for a person may be.
constexpr std::size_t kCloudMessageBytes = 300;
// Year 2286: nothing that a cloud gives lasts longer.
constexpr double kLatestS = 1e10;

Result<Value> CloudObject(std::string_view body) {
  auto value = json::Parse(body);
  if (!value || !value->is_object()) return Fail(Code::kInvalid, "it is not a JSON object");
  return *std::move(value);
}

std::string CloudText(const Value& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// None of them may end a header's line early or be empty.
Result<void> NeedTexts(std::initializer_list<std::pair<const char*, const std::string*>> texts) {
  for (const auto& [name, text] : texts) {
    const bool is_plain = std::all_of(text->begin(), text->end(), [](char c) {
      return static_cast<unsigned char>(c) > ' ' && c != 0x7f;
    });
    if (text->empty() || !is_plain) {
      return Fail(Code::kInvalid, std::string(name) + " is missing or malformed");
    }
  }
  return {};
}

std::string Beginning(std::string_view text) {
  return std::string(text.substr(0, kCloudMessageBytes));
}

}  // namespace

std::optional<std::int64_t> ParseCloudTime(std::string_view text) {
  constexpr std::size_t kSecondsEnd = 19;
  if (text.size() <= kSecondsEnd || !text.ends_with('Z')) return std::nullopt;
  std::string_view fraction = text.substr(kSecondsEnd, text.size() - kSecondsEnd - 1);
  if (fraction.empty()) fraction = ".";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (fraction[0] != '.' || !std::all_of(fraction.begin() + 1, fraction.end(), is_digit)) {
    return std::nullopt;
  }
  std::string three(fraction.substr(1, 3));
  three.resize(3, '0');
  return ParseTime(std::string(text.substr(0, kSecondsEnd)) + "." + three + "Z");
}

Result<AwsKeysAnswer> ParseAwsKeys(std::string_view body) {
  TIDEMILL_TRY(const Value object, CloudObject(body));
  // The instance metadata has its errors in answers that look like successes.
  const std::string code = CloudText(object, "Code");
  if (!code.empty() && code != "Success") {
    return Fail(Code::kInvalid, Beginning(code + ": " + CloudText(object, "Message")));
  }
  AwsKeysAnswer keys{.id = CloudText(object, "AccessKeyId"),
                     .secret = CloudText(object, "SecretAccessKey"),
                     .token = CloudText(object, "Token"),
                     .expires_ms = {}};
  TIDEMILL_TRY_VOID(NeedTexts({{"AccessKeyId", &keys.id}, {"SecretAccessKey", &keys.secret}}));
  if (!keys.token.empty()) TIDEMILL_TRY_VOID(NeedTexts({{"Token", &keys.token}}));
  if (!object.contains("Expiration")) return keys;
  keys.expires_ms = ParseCloudTime(CloudText(object, "Expiration"));
  if (!keys.expires_ms) return Fail(Code::kInvalid, "Expiration is not a time");
  return keys;
}

Result<EcrTokenAnswer> ParseEcrToken(std::string_view body) {
  TIDEMILL_TRY(const Value object, CloudObject(body));
  const auto list = object.find("authorizationData");
  if (list == object.end() || !list->is_array() || list->empty() || !list->front().is_object()) {
    return Fail(Code::kInvalid, "authorizationData is missing");
  }
  const Value& data = list->front();
  EcrTokenAnswer answer{.token = CloudText(data, "authorizationToken"), .expires_ms = 0};
  TIDEMILL_TRY_VOID(NeedTexts({{"authorizationToken", &answer.token}}));
  const auto expires = data.find("expiresAt");
  const bool is_time = expires != data.end() && expires->is_number() &&
                       expires->get<double>() > 0 && expires->get<double>() < kLatestS;
  if (!is_time) return Fail(Code::kInvalid, "expiresAt is not a time");
  answer.expires_ms = std::llround(expires->get<double>() * 1000);
  return answer;
}

std::string AwsJsonMessage(std::string_view body) {
  const auto object = CloudObject(body);
  if (!object) return Beginning(body);
  std::string type = CloudText(*object, "__type");
  type.erase(0, type.find('#') + 1);
  const std::string message =
      CloudText(*object, object->contains("message") ? "message" : "Message");
  if (type.empty()) return Beginning(message.empty() ? body : message);
  return Beginning(message.empty() ? type : type + ": " + message);
}

Result<GoogleTokenAnswer> ParseGoogleToken(std::string_view body) {
  TIDEMILL_TRY(const Value object, CloudObject(body));
  GoogleTokenAnswer answer{.token = CloudText(object, "access_token"), .lasts_s = 0};
  TIDEMILL_TRY_VOID(NeedTexts({{"access_token", &answer.token}}));
  const auto lasts = object.find("expires_in");
  constexpr std::int64_t kLongestS = 1'000'000'000;
  if (lasts == object.end() || !lasts->is_number_integer() || lasts->get<std::int64_t>() < 0 ||
      lasts->get<std::int64_t>() > kLongestS) {
    return Fail(Code::kInvalid, "expires_in is not a number of seconds");
  }
  answer.lasts_s = lasts->get<std::int64_t>();
  return answer;
}

std::string GoogleMessage(std::string_view body) {
  const auto object = CloudObject(body);
  if (!object) return Beginning(body);
  const auto error = object->find("error");
  if (error != object->end() && error->is_object()) return Beginning(CloudText(*error, "message"));
  const std::string code = CloudText(*object, "error");
  const std::string words = CloudText(*object, "error_description");
  if (code.empty()) return Beginning(body);
  return Beginning(words.empty() ? code : code + ": " + words);
}

Result<GoogleKeyFile> ParseGoogleKeyFile(std::string_view text) {
  TIDEMILL_TRY(const Value object, CloudObject(text));
  GoogleKeyFile file{.type = CloudText(object, "type"),
                     .email = CloudText(object, "client_email"),
                     .private_key = CloudText(object, "private_key"),
                     .private_key_id = CloudText(object, "private_key_id"),
                     .token_uri = CloudText(object, "token_uri"),
                     .client_id = CloudText(object, "client_id"),
                     .client_secret = CloudText(object, "client_secret"),
                     .refresh_token = CloudText(object, "refresh_token")};
  if (file.type == "service_account") {
    TIDEMILL_TRY_VOID(NeedTexts({{"client_email", &file.email}}));
    if (file.private_key.empty()) return Fail(Code::kInvalid, "private_key is missing");
    return file;
  }
  if (file.type == "authorized_user") {
    TIDEMILL_TRY_VOID(NeedTexts({{"client_id", &file.client_id},
                                 {"client_secret", &file.client_secret},
                                 {"refresh_token", &file.refresh_token}}));
    return file;
  }
  return Fail(Code::kInvalid, "its type is '" + Beginning(file.type) +
                                  "'; service_account and authorized_user are understood");
}

Result<std::int64_t> ParseSpotAction(std::string_view body) {
  TIDEMILL_TRY(const Value object, CloudObject(body));
  const auto time = ParseCloudTime(CloudText(object, "time"));
  if (!time) return Fail(Code::kInvalid, "time is not a time");
  return *time;
}

std::string FormatDeleteInstances(std::string_view instance) {
  return "{\"instances\":[" + json::Quoted(instance) + "]}";
}

std::string FormatGoogleClaims(const GoogleClaims& claims) {
  std::string out = "{";
  json::AppendText(out, "iss", claims.email);
  json::AppendText(out, "scope", claims.scope);
  json::AppendText(out, "aud", claims.audience);
  json::AppendNumber(out, "iat", claims.from_s);
  json::AppendNumber(out, "exp", claims.until_s);
  return out + "}";
}

std::string FormatRs256Header(std::string_view key_id) {
  std::string out = "{";
  json::AppendText(out, "alg", "RS256");
  json::AppendText(out, "typ", "JWT");
  if (!key_id.empty()) json::AppendText(out, "kid", key_id);
  return out + "}";
}

}  // namespace tidemill
