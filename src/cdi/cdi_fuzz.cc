// SPDX-License-Identifier: Apache-2.0
// No bytes break the reader of device specs; a spec that it took is read back from what is written
// of it, and has what a runtime relies on. The fast reader of YAML says what the whole one says.
// sources: cdi/cdi_text.cc model/cdi.cc wire/cdi_json.cc wire/cdi_edits.cc wire/cdi_format.cc
// sources: wire/fault.cc wire/json.cc wire/nearest.cc wire/runs.cc yaml/yaml.cc yaml/scalar.cc
// sources: yaml/slip.cc yaml/plain.cc base/bits.cc base/bytes.cc base/check.cc base/id.cc
// libraries: yaml-cpp zstd
#include <cstdlib>

#include "cdi/cdi_text.h"
#include "wire/cdi_format.h"
#include "wire/cdi_json.h"
#include "yaml/plain.h"
#include "yaml/yaml.h"

namespace tidemill {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

bool IsGoodPath(const std::string& path) {
  return path.starts_with('/') && (path + "/").find("/../") == std::string::npos &&
         path.find_first_of(std::string_view("\0\n", 2)) == std::string::npos;
}

void CheckEdits(const CdiEdits& edits) {
  for (const std::string& one : edits.env) Require(one.find('=', 1) != std::string::npos);
  for (const CdiNode& node : edits.nodes) {
    Require(IsGoodPath(node.path) && (node.host_path.empty() || IsGoodPath(node.host_path)));
    Require(node.major.has_value() == node.minor.has_value());
  }
  for (const CdiMount& mount : edits.mounts) {
    Require(IsGoodPath(mount.host_path) && IsGoodPath(mount.container_path));
    Require(!mount.container_path.starts_with("/proc/"));
  }
  for (const OciHook& hook : edits.hooks) Require(IsGoodPath(hook.path));
}

void Check(const CdiSpec& spec) {
  Require(IsCdiKind(spec.kind) && !spec.devices.empty());
  CheckEdits(spec.edits);
  for (const CdiDevice& device : spec.devices) {
    Require(IsCdiDeviceName(device.name) && device.edits != CdiEdits());
    CheckEdits(device.edits);
  }
  const auto again = ParseCdiSpec(FormatCdiSpec(spec));
  Require(again.has_value() && *again == spec);
}

void FuzzOne(std::string_view input) {
  if (const auto plain = PlainYamlToJson(input)) Require(ToJson(input).value().json == *plain);
  if (const auto spec = ParseCdiSpec(input)) {
    Check(*spec);
    // Taken as JSON, so also as a file of JSON.
    Require(ParseCdiText(input, true).value() == *spec);
  }
  if (const auto spec = ParseCdiText(input, false)) {
    Check(*spec);
  } else {
    Require(spec.error().code == Code::kInvalid && !spec.error().reason.empty());
  }
}

}  // namespace
}  // namespace tidemill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tidemill::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
