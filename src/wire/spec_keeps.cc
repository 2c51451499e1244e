// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_keeps.h"

#include <string>
#include <string_view>

#include "base/limits.h"
#include "model/job.h"
#include "model/template.h"
#include "wire/data_json.h"
#include "wire/spec_needs.h"

namespace tidemill::json {
namespace {

// Each is a mount of every container of the job.
constexpr std::size_t kCacheMost = 16;
// What is lost of the work of a machine that vanishes, against what saving costs.
constexpr std::chrono::minutes kSaveEvery{5};
// A save is some requests to a store; more often it would cost more than it is worth.
constexpr std::chrono::seconds kSaveLeast{1};
constexpr std::chrono::hours kSaveMost{24};

Result<std::string> CacheUrl(const Value& value, const Path& path) {
  if (!value.is_string()) return Wrong(path, "must be a URL such as \"s3://bucket/model.bin\"");
  const std::string& url = value.get_ref<const std::string&>();
  if (url.size() > limits::kUrlBytes) {
    return Wrong(path, "is longer than " + std::to_string(limits::kUrlBytes) + " bytes");
  }
  if (!IsDataUrl(url)) return Wrong(path, "must begin with s3://, gs:// or file:///");
  const std::size_t bucket = url.find("://") + 3;
  const std::size_t slash = url.find('/', bucket);
  if (slash == url.npos || (slash == bucket && !url.starts_with("file:"))) {
    return Wrong(path, "must name something in its bucket");
  }
  for (const TemplatePiece& piece : ParseTemplate(url)) {
    if (piece.kind == TemplatePiece::Kind::kText) continue;
    return Wrong(path, "is the same for all items: it has no templates");
  }
  return url;
}

}  // namespace

Result<std::vector<CacheUse>> ReadCache(const Fields& spec) {
  std::vector<CacheUse> uses;
  const Value* value = spec.Find("cache");
  if (value == nullptr) return uses;
  const Path in_cache = spec.In("cache");
  TIDEMILL_TRY_VOID(Fields::Of(*value, in_cache));
  if (value->empty() || value->size() > kCacheMost) {
    return Wrong(in_cache, "must have 1 to " + std::to_string(kCacheMost) + " names");
  }
  for (const auto& [name, one] : value->get_ref<const Value::object_t&>()) {
    if (name.size() > limits::kNameBytes || !IsName(name)) {
      return Wrong(in_cache, Quoted(name.substr(0, limits::kNameBytes)) +
                                 " is no name here; they are letters, digits, '.', '_' and '-', "
                                 "and begin with a letter or digit");
    }
    TIDEMILL_TRY(std::string url, CacheUrl(one, Path{&in_cache, name, 0}));
    uses.push_back({name, std::move(url)});
  }
  return uses;
}

Result<std::chrono::milliseconds> ReadCheckpoint(const Fields& spec) {
  using std::chrono::milliseconds;
  const Value* value = spec.Find("checkpoint");
  if (value == nullptr) return milliseconds(0);
  const Path path = spec.In("checkpoint");
  if (value->is_boolean()) return value->get<bool>() ? milliseconds(kSaveEvery) : milliseconds(0);
  if (!value->is_object()) return Wrong(path, "must be true, false or {every: 5m}");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY_VOID(fields.Only({"every"}));
  return ReadTime(fields, "every", {kSaveLeast, kSaveMost, kSaveEvery, "from 1 s to 1 day"});
}

}  // namespace tidemill::json
