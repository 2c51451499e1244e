// SPDX-License-Identifier: Apache-2.0
#include "wire/gcp_json.h"

#include <algorithm>

#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;
using json::Wrong;

// Google's own limits, where it has one.
constexpr std::size_t kWordBytes = 63;
constexpr std::size_t kGcpUrlBytes = 512;
constexpr std::size_t kGcpUserDataBytes = 16 * 1024;
constexpr std::size_t kMostScopes = 32;
constexpr std::size_t kMostLabels = 60;  // Google takes 64; two are ours
constexpr std::int64_t kMaxGcpDiskGb = 65'536;
constexpr std::int64_t kMostAccelerators = 64;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// What stands in a path as it is, so that nothing else can be called with it.
bool IsWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLowerOrDigit(c) || c == '-' || c == '.' || c == ':'; });
}

bool IsUrlText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z') ||
           std::string_view("-._:/@+").find(c) != std::string_view::npos;
  });
}

bool IsLabelText(std::string_view text) {
  return text.size() <= kWordBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return IsLowerOrDigit(c) || c == '-' || c == '_';
         });
}

Result<std::string> ReadWord(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::string_view text,
               fields.Text(name, {.most_bytes = kWordBytes, .absent = ""}));
  if (!IsWord(text)) return Wrong(fields.In(name), "must be lower-case letters, digits and dashes");
  return std::string(text);
}

Result<std::string> ReadUrl(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::string_view text,
               fields.Text(name, {.most_bytes = kGcpUrlBytes, .absent = ""}));
  if (!IsUrlText(text)) return Wrong(fields.In(name), "must be a name, or a path at Google");
  return std::string(text);
}

// It has lines, so it is not read as other texts are.
Result<std::string> ReadGcpUserData(const Fields& fields) {
  const Value* value = fields.Find("user_data");
  if (value == nullptr) return std::string();
  if (!value->is_string()) return Wrong(fields.In("user_data"), "must be a string");
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > kGcpUserDataBytes) return Wrong(fields.In("user_data"), "longer than 16 KiB");
  return text;
}

Result<std::vector<std::string>> ReadScopes(const Fields& fields) {
  const auto is_scope = [](const std::string& url) {
    return IsUrlText(url) && url.starts_with("https://");
  };
  return json::ReadStrings(fields, "scopes", kMostScopes, is_scope,
                           "must be URLs, https://www.googleapis.com/...");
}

Result<std::map<std::string, std::string>> ReadLabels(const Fields& fields) {
  std::map<std::string, std::string> labels;
  const Value* value = fields.Find("labels");
  if (value == nullptr) return labels;
  const json::Path path = fields.In("labels");
  if (!value->is_object()) return Wrong(path, "must be an object of strings");
  if (value->size() > kMostLabels) return Wrong(path, "more than 60");
  for (const auto& [key, text] : value->items()) {
    const bool is_key = !key.empty() && key.front() >= 'a' && key.front() <= 'z';
    if (!is_key || !IsLabelText(key) || !text.is_string() ||
        !IsLabelText(text.get_ref<const std::string&>())) {
      return Wrong({&path, key, 0}, "labels have lower-case letters, digits, dashes, at most 63");
    }
    if (key.starts_with("tidemill-")) return Wrong({&path, key, 0}, "such labels are our own");
    labels[key] = text.get<std::string>();
  }
  return labels;
}

Result<void> ReadAccelerators(const Fields& fields, GcpPool& pool) {
  const Value* value = fields.Find("accelerators");
  if (value == nullptr) return {};
  const json::Path path = fields.In("accelerators");
  TIDEMILL_TRY(const Fields inner, Fields::Of(*value, path));
  TIDEMILL_TRY_VOID(inner.Only({"type", "count"}));
  TIDEMILL_TRY(pool.accelerator_type, ReadWord(inner, "type"));
  if (pool.accelerator_type.empty()) return Wrong(inner.In("type"), "is missing");
  TIDEMILL_TRY(pool.accelerator_count,
               inner.Int("count", {.least = 1, .most = kMostAccelerators, .absent = 1}));
  return {};
}

Result<void> Complete(const Fields& fields, const GcpPool& pool) {
  const auto need = [&](std::string_view name, const std::string& text) -> Result<void> {
    if (text.empty()) return Wrong(fields.In(name), "is missing");
    return {};
  };
  TIDEMILL_TRY_VOID(need("project", pool.project));
  TIDEMILL_TRY_VOID(need("zone", pool.zone));
  if (pool.group.empty()) {
    TIDEMILL_TRY_VOID(need("type", pool.type));
    return need("image", pool.image);
  }
  const GcpPool adopted{.project = pool.project, .zone = pool.zone, .group = pool.group};
  if (pool == adopted) return {};
  return Wrong(fields.In("group"), "a group that is there has its own template: say nothing else");
}

}  // namespace

Result<GcpPool> ParseGcpPool(std::string_view text) {
  GcpPool pool;
  TIDEMILL_TRY(const Value value, json::Parse(text.empty() ? "{}" : text));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {.name = "options"}));
  TIDEMILL_TRY_VOID(
      fields.Only({"project", "zone", "group", "type", "image", "disk_gb", "network", "subnet",
                   "service_account", "scopes", "user_data", "labels", "accelerators"}));
  TIDEMILL_TRY(pool.project, ReadWord(fields, "project"));
  TIDEMILL_TRY(pool.zone, ReadWord(fields, "zone"));
  TIDEMILL_TRY(pool.group, ReadWord(fields, "group"));
  TIDEMILL_TRY(pool.type, ReadWord(fields, "type"));
  TIDEMILL_TRY(pool.image, ReadUrl(fields, "image"));
  TIDEMILL_TRY(pool.disk_gb,
               fields.Int("disk_gb", {.least = 1, .most = kMaxGcpDiskGb, .absent = 0}));
  TIDEMILL_TRY(pool.network, ReadUrl(fields, "network"));
  TIDEMILL_TRY(pool.subnet, ReadUrl(fields, "subnet"));
  TIDEMILL_TRY(pool.service_account, ReadUrl(fields, "service_account"));
  TIDEMILL_TRY(pool.scopes, ReadScopes(fields));
  TIDEMILL_TRY(pool.user_data, ReadGcpUserData(fields));
  TIDEMILL_TRY(pool.labels, ReadLabels(fields));
  TIDEMILL_TRY_VOID(ReadAccelerators(fields, pool));
  TIDEMILL_TRY_VOID(Complete(fields, pool));
  return pool;
}

}  // namespace tidemill
