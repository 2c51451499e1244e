// SPDX-License-Identifier: Apache-2.0
#include "wire/cdi_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "wire/cdi_edits.h"
#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;
using json::Wrong;
using Texts = std::map<std::string, std::string>;

// Those with a text of their own; what came before was never released. They compare as text.
constexpr std::array<std::string_view, 8> kVersions = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                                       "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
// 16 GPUs of 7 parts each, each of them under three names, are 384.
constexpr std::size_t kDevices = 4096;
constexpr std::size_t kAnnotations = 256;
// What the reference's readers take.
constexpr std::size_t kAnnotationBytes = 256 * 1024;

Result<std::string> ReadVersion(const Fields& spec) {
  TIDEMILL_TRY(std::string_view version,
               spec.Text("cdiVersion", {.most_bytes = limits::kNameBytes}));
  if (version.starts_with('v')) version.remove_prefix(1);  // as the reference's readers do
  if (std::find(kVersions.begin(), kVersions.end(), version) == kVersions.end()) {
    std::string known;
    for (const std::string_view one : kVersions) known.append(" ").append(one);
    return Wrong(spec.In("cdiVersion"), "is none that is known here; known are" + known);
  }
  return std::string(version);
}

Result<std::string> ReadKind(const Fields& spec, std::string_view version) {
  TIDEMILL_TRY(const std::string_view kind, spec.Text("kind", {.most_bytes = 512}));
  if (!IsCdiKind(kind)) {
    return Wrong(spec.In("kind"),
                 "must be VENDOR/CLASS, as vendor.com/gpu: each of letters, digits and '_-.', "
                 "beginning with a letter and ending with a letter or digit");
  }
  if (version < "0.6.0" && kind.find('.', kind.find('/')) != std::string_view::npos) {
    return Wrong(spec.In("kind"),
                 "a dot in the class needs cdiVersion 0.6.0 or newer; this spec "
                 "says " +
                     std::string(version));
  }
  return std::string(kind);
}

bool IsOf(std::string_view text, std::string_view others, std::size_t most) {
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= most && is_inner(text.front()) && is_inner(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_inner(c) || others.find(c) != std::string_view::npos;
         });
}

// As the keys of labels are: a name, and before it perhaps a host's name and a slash.
bool IsAnnotation(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsOf(key, "-_.", 63);
  return IsOf(key.substr(0, slash), "-.", 253) && IsOf(key.substr(slash + 1), "-_.", 63);
}

Result<Texts> ReadAnnotations(const Fields& owner, std::string_view version) {
  constexpr std::string_view kName = "annotations";
  TIDEMILL_TRY_VOID(json::CheckSince(owner, kName, "0.6.0", version));
  Texts texts;
  const Value* value = owner.Find(kName);
  if (value == nullptr) return texts;
  const Path path = owner.In(kName);
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  if (value->size() > kAnnotations) {
    return Wrong(path, "has more than " + std::to_string(kAnnotations) + " names");
  }
  std::size_t bytes = 0;
  for (const auto& [key, one] : value->get_ref<const Value::object_t&>()) {
    if (!IsAnnotation(key)) {
      return Wrong(path, json::Quoted(key.substr(0, limits::kNameBytes)) +
                             " is no name here; they are letters, digits and '-_.', after a "
                             "host's name and a slash or without them");
    }
    TIDEMILL_TRY(const std::string_view text,
                 fields.Text(key, {.most_bytes = kAnnotationBytes, .absent = ""}));
    bytes += key.size() + text.size();
    texts.emplace(key, text);
  }
  if (bytes > kAnnotationBytes) {
    return Wrong(path, "is more than " + std::to_string(kAnnotationBytes) + " bytes");
  }
  return texts;
}

Result<std::string> ReadDeviceName(const Fields& device, std::string_view version) {
  const Value* value = device.Find("name");
  if (value != nullptr && value->is_number()) {
    return Wrong(device.In("name"), "must be a string: put it in quotes");
  }
  TIDEMILL_TRY(const std::string_view name, device.Text("name", {.most_bytes = 512}));
  if (!IsCdiDeviceName(name)) {
    return Wrong(device.In("name"),
                 "must be letters, digits and '_-.:', with a letter or digit at both ends");
  }
  const bool is_digit = name.front() >= '0' && name.front() <= '9';
  if (is_digit && version < "0.5.0") {
    return Wrong(device.In("name"),
                 "a digit at its beginning needs cdiVersion 0.5.0 or newer; this spec says " +
                     std::string(version));
  }
  return std::string(name);
}

Result<CdiDevice> ReadDevice(const Fields& fields, std::string_view version) {
  TIDEMILL_TRY_VOID(fields.Only({"name", "annotations", "containerEdits"}));
  CdiDevice device;
  TIDEMILL_TRY(device.name, ReadDeviceName(fields, version));
  TIDEMILL_TRY(device.annotations, ReadAnnotations(fields, version));
  if (fields.Find("containerEdits") == nullptr) {
    return Wrong(fields.In("containerEdits"), "is missing");
  }
  TIDEMILL_TRY(device.edits, json::ReadEdits(fields, version));
  if (device.edits == CdiEdits()) {
    return Wrong(fields.In("containerEdits"), "has nothing in it, so the device is none");
  }
  return device;
}

Result<std::vector<CdiDevice>> ReadDevices(const Fields& spec, std::string_view version) {
  std::vector<CdiDevice> devices;
  std::map<std::string, std::size_t> seen;
  TIDEMILL_TRY_VOID(
      json::ReadEach(spec, "devices", kDevices, [&](const Fields& fields) -> Result<void> {
        TIDEMILL_TRY(CdiDevice device, ReadDevice(fields, version));
        const auto [before, is_new] = seen.try_emplace(device.name, devices.size());
        if (!is_new) {
          return Wrong(fields.In("name"), "'" + device.name +
                                              "' is there twice; first in devices[" +
                                              std::to_string(before->second) + "]");
        }
        devices.push_back(std::move(device));
        return {};
      }));
  if (devices.empty()) {
    const bool is_there = spec.Find("devices") != nullptr;
    return Wrong(spec.In("devices"), is_there ? "has nothing in it" : "is missing");
  }
  return devices;
}

}  // namespace

Result<CdiSpec> ParseCdiSpec(std::string_view json) {
  if (json.size() > kCdiJsonBytes) {
    return Fail(Code::kInvalid, "more than " + std::to_string(kCdiJsonBytes) + " bytes");
  }
  TIDEMILL_TRY(const Value value, json::Parse(json));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(
      fields.Only({"cdiVersion", "kind", "annotations", "devices", "containerEdits"}));
  CdiSpec spec;
  TIDEMILL_TRY(spec.version, ReadVersion(fields));
  TIDEMILL_TRY(spec.kind, ReadKind(fields, spec.version));
  TIDEMILL_TRY(spec.annotations, ReadAnnotations(fields, spec.version));
  TIDEMILL_TRY(spec.devices, ReadDevices(fields, spec.version));
  TIDEMILL_TRY(spec.edits, json::ReadEdits(fields, spec.version));
  return spec;
}

}  // namespace tidemill
