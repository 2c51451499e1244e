// SPDX-License-Identifier: Apache-2.0
#include "wire/aws_json.h"

#include <algorithm>

#include "wire/json.h"

namespace tidemill {
namespace {

// As many as a group may have.
constexpr std::size_t kMostTypes = 40;
constexpr std::size_t kMostSubnets = 64;
constexpr std::size_t kMostSecurityGroups = 16;
// An instance has 50, of which some are ours and AWS's own.
constexpr std::size_t kMostTags = 40;
constexpr std::size_t kTagKeyBytes = 128;
constexpr std::size_t kTagValueBytes = 256;
constexpr std::size_t kAwsIdBytes = 128;
constexpr std::size_t kArnBytes = 512;
constexpr std::size_t kAwsUserDataBytes = 16 << 10;
constexpr std::int64_t kMaxAwsDiskGb = 65'536;

bool IsOfTagKey(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("+-=.,_:@").find(c) != std::string_view::npos;
}

Result<std::vector<std::string>> ReadAwsIds(const json::Fields& fields, std::string_view name,
                                            std::size_t most) {
  const auto is_id = [](const std::string& id) {
    return !id.empty() && id.size() <= kAwsIdBytes &&
           id.find_first_of(" ,\n\t") == std::string::npos;
  };
  return json::ReadStrings(fields, name, most, is_id, "must be words, each its own");
}

// Either one for all, or one by type or architecture.
Result<std::map<std::string, std::string>> ReadImages(const json::Fields& fields) {
  std::map<std::string, std::string> images;
  const json::Value* const value = fields.Find("image");
  if (value == nullptr) return images;
  if (!value->is_object()) {
    TIDEMILL_TRY(images[""], fields.Text("image", {.most_bytes = kAwsIdBytes}));
    return images;
  }
  const json::Path path = fields.In("image");
  TIDEMILL_TRY(const json::Fields by_type, json::Fields::Of(*value, path));
  if (value->size() > kMostTypes) return json::Wrong(path, "has too many");
  for (const auto& entry : value->items()) {
    if (entry.key().empty()) return json::Wrong(path, "a type or an architecture is empty");
    TIDEMILL_TRY(images[entry.key()], by_type.Text(entry.key(), {.most_bytes = kAwsIdBytes}));
  }
  return images;
}

Result<std::map<std::string, std::string>> ReadTags(const json::Fields& fields) {
  std::map<std::string, std::string> tags;
  const json::Value* const value = fields.Find("tags");
  if (value == nullptr) return tags;
  const json::Path path = fields.In("tags");
  TIDEMILL_TRY(const json::Fields all, json::Fields::Of(*value, path));
  if (value->size() > kMostTags) return json::Wrong(path, "has more than 40");
  for (const auto& entry : value->items()) {
    const std::string& key = entry.key();
    // Instances see their tags in their metadata, which takes no other keys.
    const bool is_key = !key.empty() && key.size() <= kTagKeyBytes && key != "." && key != ".." &&
                        std::all_of(key.begin(), key.end(), IsOfTagKey);
    if (!is_key) {
      return json::Wrong(path, "a key has from 1 to 128 letters, digits and '+-=.,_:@'");
    }
    if (key.starts_with("aws:") || key.starts_with("tidemill-")) {
      return json::Wrong(path, "keys that begin with aws: or tidemill- are not yours");
    }
    TIDEMILL_TRY(tags[key], all.Text(key, {.most_bytes = kTagValueBytes, .absent = ""}));
  }
  return tags;
}

// Has lines, unlike other texts.
Result<std::string> ReadAwsUserData(const json::Fields& fields) {
  const json::Value* const value = fields.Find("user_data");
  if (value == nullptr) return std::string();
  if (!value->is_string()) return json::Wrong(fields.In("user_data"), "must be a string");
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > kAwsUserDataBytes) {
    return json::Wrong(fields.In("user_data"), "is longer than 16384 bytes");
  }
  return text;
}

}  // namespace

Result<AwsPool> ParseAwsPool(std::string_view text) {
  AwsPool pool;
  if (text.empty()) return pool;
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {.name = "options"}));
  TIDEMILL_TRY_VOID(
      fields.Only({"region", "group", "types", "image", "disk_gb", "subnets", "security_groups",
                   "key", "role", "user_data", "spot_percent", "tags"}));
  TIDEMILL_TRY(pool.region, fields.Text("region", {.most_bytes = kAwsIdBytes, .absent = ""}));
  TIDEMILL_TRY(pool.group, fields.Text("group", {.most_bytes = 255, .absent = ""}));
  if (!pool.group.empty() && value.size() > (pool.region.empty() ? 1U : 2U)) {
    return json::Wrong(fields.In("group"), "is used as it is: beside it only 'region' can be said");
  }
  TIDEMILL_TRY(pool.types, ReadAwsIds(fields, "types", kMostTypes));
  TIDEMILL_TRY(pool.images, ReadImages(fields));
  if (fields.Find("disk_gb") != nullptr) {
    TIDEMILL_TRY(pool.disk_gb, fields.Int("disk_gb", {.least = 1, .most = kMaxAwsDiskGb}));
  }
  TIDEMILL_TRY(pool.subnets, ReadAwsIds(fields, "subnets", kMostSubnets));
  TIDEMILL_TRY(pool.security_groups, ReadAwsIds(fields, "security_groups", kMostSecurityGroups));
  TIDEMILL_TRY(pool.key, fields.Text("key", {.most_bytes = 255, .absent = ""}));
  TIDEMILL_TRY(pool.role, fields.Text("role", {.most_bytes = kArnBytes, .absent = ""}));
  TIDEMILL_TRY(pool.user_data, ReadAwsUserData(fields));
  if (fields.Find("spot_percent") != nullptr) {
    TIDEMILL_TRY(pool.spot_percent, fields.Int("spot_percent", {.least = 0, .most = 100}));
  }
  TIDEMILL_TRY(pool.tags, ReadTags(fields));
  return pool;
}

}  // namespace tidemill
