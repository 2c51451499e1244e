// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_code.h"

#include "wire/blob_json.h"

namespace tidemill::json {
namespace {

constexpr std::size_t kPlaceBytes = 1024;
constexpr std::size_t kPaths = 64;

}  // namespace

Result<std::string> ReadCode(const Fields& spec) {
  const bool has_code = spec.Find("code") != nullptr;
  if (has_code && spec.Find("workdir") != nullptr) {
    return Wrong(spec.In("workdir"), "means the same as code; only one of them can be there");
  }
  const std::string_view name = has_code ? "code" : "workdir";
  if (spec.Find(name) == nullptr) return std::string();
  TIDEMILL_TRY(const std::string_view text, spec.Text(name, {.most_bytes = kPlaceBytes}));
  return std::string(text);
}

Result<void> CheckStoredCode(const std::string& code, const Path& spec) {
  if (code.empty() || !BlobNameOf(code).empty()) return {};
  const Path path{&spec, "code", 0};
  return Wrong(path,
               "must be 'blob:' and the SHA-256 of what was put to /v1/blobs; tidemill "
               "submit packs a folder and puts it there");
}

Result<std::map<std::string, std::string>> ReadPaths(const Fields& spec) {
  const Value* const value = spec.Find("paths");
  std::map<std::string, std::string> paths;
  if (value == nullptr) return paths;
  const Path in_paths = spec.In("paths");
  TIDEMILL_TRY_VOID(Fields::Of(*value, in_paths));
  if (value->size() > kPaths) {
    return Wrong(in_paths, "has more than " + std::to_string(kPaths) + " names");
  }
  for (const auto& [from, to] : value->get_ref<const Value::object_t&>()) {
    const Path path{&in_paths, from, 0};
    if (from.empty() || from.size() > kPlaceBytes) return Wrong(path, "is no path");
    if (!to.is_string()) return Wrong(path, "must be a string");
    const auto& text = to.get_ref<const std::string&>();
    const bool is_url = text.find("://") != std::string::npos;
    if (!is_url && !text.starts_with('/')) {
      return Wrong(path, "must be a URL, such as s3://bucket/, or an absolute path");
    }
    if (text.size() > kPlaceBytes) return Wrong(path, "is too long");
    paths[from] = text;
  }
  return paths;
}

}  // namespace tidemill::json
