// SPDX-License-Identifier: Apache-2.0
#include "wire/registry_json.h"

#include <algorithm>

#include "wire/json.h"

namespace tidemill {
namespace {

// Those of clouds are some thousands.
constexpr std::size_t kTokenBytes = 16 << 10;

}  // namespace

Result<std::string> ParseRegistryToken(std::string_view body) {
  TIDEMILL_TRY(const json::Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  const char* const name = fields.Find("token") != nullptr ? "token" : "access_token";
  TIDEMILL_TRY(const std::string_view token, fields.Text(name, {.most_bytes = kTokenBytes}));
  const bool is_plain = !token.empty() && std::all_of(token.begin(), token.end(),
                                                      [](char c) { return c > ' ' && c < 127; });
  if (!is_plain) return json::Wrong(fields.In(name), "is no token");
  return std::string(token);
}

}  // namespace tidemill
