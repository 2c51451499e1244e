// SPDX-License-Identifier: Apache-2.0
#include "cdi/generate.h"

#include <map>
#include <utility>

#include "wire/cdi_format.h"
#include "wire/cdi_json.h"

namespace tidemill {
namespace {

// The last part of a path, with '-' for what no name has, and without what no name ends with.
std::string NameOf(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (char& c : name) {
    const std::string around{'a', c, 'a'};
    if (!IsCdiDeviceName(around)) c = '-';
  }
  while (!name.empty() && !IsCdiDeviceName(name.substr(name.size() - 1))) name.pop_back();
  while (!name.empty() && !IsCdiDeviceName(name.substr(0, 1))) name.erase(0, 1);
  return name;
}

}  // namespace

Result<CdiSpec> GenerateForPaths(const std::string& kind, const std::vector<std::string>& paths) {
  CdiSpec spec{.version = kMadeCdiVersion, .kind = kind};
  if (!IsCdiKind(kind)) {
    return Fail(Code::kInvalid, "'" + kind + "' is no kind; write VENDOR/CLASS, as vendor.com/gpu");
  }
  std::map<std::string, std::string> seen;
  for (const std::string& path : paths) {
    CdiDevice device{.name = NameOf(path)};
    if (!IsCdiDeviceName(device.name)) {
      return Fail(Code::kInvalid, "'" + path + "' gives a device no name");
    }
    const auto [before, is_new] = seen.try_emplace(device.name, path);
    if (!is_new) {
      return Fail(Code::kInvalid, before->second + " and " + path + " would both be called '" +
                                      device.name + "'; make a spec for each, with --kind");
    }
    device.edits.nodes = {{.path = path}};
    // Alone, so that an error is about this path.
    const CdiSpec alone{.version = spec.version, .kind = kind, .devices = {device}};
    const auto checked = ParseCdiSpec(FormatCdiSpec(alone));
    if (!checked) {
      const std::string& reason = checked.error().reason;
      return Fail(Code::kInvalid, path + ": " + reason.substr(reason.rfind(": ") + 2));
    }
    if (checked->devices != alone.devices) return Fail(Code::kInvalid, path + ": not UTF-8");
    spec.devices.push_back(std::move(device));
  }
  if (spec.devices.empty()) return Fail(Code::kInvalid, "no device is named");
  return spec;
}

}  // namespace tidemill
