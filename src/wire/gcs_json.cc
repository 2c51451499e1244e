// SPDX-License-Identifier: Apache-2.0
#include "wire/gcs_json.h"

#include <charconv>

#include "wire/json.h"

namespace tidemill {
namespace {

using json::Value;

Result<Value> GcsAnswer(std::string_view body) {
  auto value = json::Parse(body);
  if (!value || !value->is_object()) {
    return Fail(Code::kInvalid, "the answer is not a JSON object");
  }
  return *std::move(value);
}

// Numbers of 64 bits come as text too.
std::string GcsText(const Value& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<GcsObject> Read(const Value& value) {
  if (!value.is_object()) return Fail(Code::kInvalid, "an object of the answer is none");
  GcsObject object{.name = GcsText(value, "name"),
                   .size_bytes = 0,
                   .generation = GcsText(value, "generation"),
                   .metadata = {}};
  const std::string size = GcsText(value, "size");
  const char* const end = size.data() + size.size();
  const auto [rest, error] = std::from_chars(size.data(), end, object.size_bytes);
  if (object.name.empty() || error != std::errc{} || rest != end || object.size_bytes < 0) {
    return Fail(Code::kInvalid, "an object of the answer has no name or no size");
  }
  const auto metadata = value.find("metadata");
  if (metadata == value.end() || !metadata->is_object()) return object;
  for (const auto& [name, text] : metadata->items()) {
    if (text.is_string()) object.metadata[name] = text.get<std::string>();
  }
  return object;
}

}  // namespace

Result<GcsObject> ParseGcsObject(std::string_view body) {
  TIDEMILL_TRY(const Value value, GcsAnswer(body));
  return Read(value);
}

Result<GcsList> ParseGcsList(std::string_view body) {
  TIDEMILL_TRY(const Value value, GcsAnswer(body));
  GcsList list;
  list.next = GcsText(value, "nextPageToken");
  const auto items = value.find("items");
  if (items != value.end() && items->is_array()) {
    for (const Value& item : *items) {
      TIDEMILL_TRY(GcsObject object, Read(item));
      list.objects.push_back(std::move(object));
    }
  }
  const auto prefixes = value.find("prefixes");
  if (prefixes == value.end() || !prefixes->is_array()) return list;
  for (const Value& prefix : *prefixes) {
    if (prefix.is_string()) list.prefixes.push_back(prefix.get<std::string>());
  }
  return list;
}

std::string FormatGcsObject(const GcsNewObject& object) {
  std::string out = "{";
  json::AppendText(out, "name", object.name);
  json::AppendText(out, "contentType", object.content_type);
  if (!object.metadata.empty()) {
    std::string metadata = "{";
    for (const auto& [name, text] : object.metadata) json::AppendText(metadata, name, text);
    json::AppendValue(out, "metadata", metadata + "}");
  }
  return out + "}";
}

}  // namespace tidemill
