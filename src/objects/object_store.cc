// SPDX-License-Identifier: Apache-2.0
#include "objects/object_store.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace tidemill {
namespace {

constexpr std::size_t kKeyBytes = 1024;
constexpr std::size_t kMaxMarksBytes = 2048;

bool IsUtf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t more = first < 0x80                     ? 0
                             : first >= 0xC2 && first <= 0xDF ? 1
                             : first >= 0xE0 && first <= 0xEF ? 2
                             : first >= 0xF0 && first <= 0xF4 ? 3
                                                              : text.size();
    if (more >= text.size() - i) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    // Too long a form, half of a pair, or beyond the last one.
    const auto second = more > 0 ? static_cast<unsigned char>(text[i + 1]) : 0x80;
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

bool IsBucket(std::string_view name) {
  const auto is_right = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return name.size() >= 3 && name.size() <= 222 && name[0] != '.' && name.back() != '.' &&
         name.find("..") == name.npos && std::all_of(name.begin(), name.end(), is_right);
}

}  // namespace

ObjectBody BodyOf(std::string text) {
  const auto shared = std::make_shared<const std::string>(std::move(text));
  return {.size_bytes = static_cast<std::int64_t>(shared->size()),
          .read = [shared](std::int64_t offset, std::size_t size) -> Result<std::string> {
            return shared->substr(static_cast<std::size_t>(offset), size);
          }};
}

Result<void> CheckMarks(const ObjectMarks& marks) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : marks) {
    bytes += name.size() + value.size();
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    // A space at an end would be lost on the way.
    const bool is_value =
        !value.empty() && value.front() != ' ' && value.back() != ' ' &&
        std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c < 127; });
    if (!is_name || !is_value) return Fail(Code::kInvalid, "the mark '" + name + "' is malformed");
  }
  if (bytes > kMaxMarksBytes) return Fail(Code::kInvalid, "the marks are longer than 2 KiB");
  return {};
}

Result<void> CheckKey(std::string_view key) {
  if (key.empty() || key.size() > kKeyBytes) {
    return Fail(Code::kInvalid, "an object's key must have 1 to 1,024 bytes");
  }
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 127; };
  if (!IsUtf8(key) || std::any_of(key.begin(), key.end(), is_control)) {
    return Fail(Code::kInvalid, "an object's key must be UTF-8 without control characters");
  }
  return {};
}

Result<void> CheckGet(std::string_view key, const ObjectRange& range) {
  if (range.offset < 0 || range.size.value_or(1) <= 0) {
    return Fail(Code::kInvalid, "the range is empty or negative");
  }
  return CheckKey(key);
}

Result<void> CheckPut(std::string_view key, const PutOptions& options) {
  TIDEMILL_TRY_VOID(CheckKey(key));
  return CheckMarks(options.marks);
}

Result<ObjectUrl> ParseObjectUrl(std::string_view url) {
  constexpr std::pair<std::string_view, ObjectUrl::Kind> kSchemes[] = {
      {"s3://", ObjectUrl::Kind::kS3},
      {"gs://", ObjectUrl::Kind::kGcs},
      {"file:///", ObjectUrl::Kind::kFile}};
  for (const auto& [scheme, kind] : kSchemes) {
    if (!url.starts_with(scheme)) continue;
    url.remove_prefix(scheme.size());
    ObjectUrl parsed{.kind = kind};
    if (kind != ObjectUrl::Kind::kFile) {
      parsed.bucket = url.substr(0, url.find('/'));
      url.remove_prefix(std::min(parsed.bucket.size() + 1, url.size()));
      if (!IsBucket(parsed.bucket)) {
        return Fail(Code::kInvalid, "'" + parsed.bucket.substr(0, 100) + "' is no bucket's name");
      }
    }
    parsed.key = url;
    if (!parsed.key.empty()) TIDEMILL_TRY_VOID(CheckKey(parsed.key));
    return parsed;
  }
  return Fail(Code::kInvalid, "it does not begin with s3://, gs:// or file:///");
}

}  // namespace tidemill
