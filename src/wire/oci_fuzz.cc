// SPDX-License-Identifier: Apache-2.0
// Whatever an engine, or who speaks for it, writes into config.json breaks nobody who edits it;
// what comes out asks for nothing more than it should, and editing it once more changes nothing.
// sources: wire/oci_json.cc wire/oci_edits.cc wire/cdi_format.cc wire/runtime_json.cc wire/json.cc
// sources: wire/nearest.cc wire/runs.cc wire/time.cc wire/tree.cc model/cdi.cc base/bits.cc
// sources: base/bytes.cc base/check.cc base/id.cc
// libraries: zstd
#include <cstdint>
#include <cstdlib>

#include "wire/oci_json.h"
#include "wire/runtime_json.h"

namespace tidemill {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

const CdiEdits& Edits() {
  static const CdiEdits edits = {
      .env = {"A=1", "B=2"},
      .nodes = {{.path = "/dev/a", .type = 'c', .major = 1, .minor = 3},
                {.path = "/dev/p", .type = 'p'}},
      .mounts = {{.host_path = "/h", .container_path = "/a/b"},
                 {.host_path = "/h", .container_path = "/a"}},
      .hooks = {{.stage = HookStage::kPrestart, .path = "/a", .args = {"a"}},
                {.stage = HookStage::kPoststop, .path = "/b"}},
      .groups = {5}};
  return edits;
}

void FuzzConfig(std::string_view input) {
  const auto asks = ParseOciAsks(input, AskedBy::kAnnotationsAndEnvironment);
  if (asks) Require(asks->devices.size() <= kMostAskedDevices);
  const auto edited = EditOciConfig(input, Edits());
  if (edited) {
    Require(asks || asks.error().reason.starts_with("more than"));
    const auto left = ParseOciAsks(*edited, AskedBy::kAnnotationsAndEnvironment);
    const auto annotations = ParseOciAsks(input, AskedBy::kAnnotations);
    Require(left.has_value() == annotations.has_value());
    if (left) Require(left->devices == annotations->devices);
    const auto again = EditOciConfig(*edited, Edits());
    Require(again && *again == *edited);
  }
  (void)ParseOciRoot(input);
  (void)ParseOciStateBundle(input);
}

void FuzzFiles(std::string_view input) {
  (void)ParseRuntimeConfig(input);
  (void)ParseHookFile(input);
  if (const auto added = AddDockerRuntime(input, "t", "/tidemill-runtime")) {
    Require(*AddDockerRuntime(*added, "t", "/tidemill-runtime") == *added);
    const auto removed = RemoveDockerRuntime(*added, "t");
    if (removed)
      Require(removed->find("/tidemill-runtime") == std::string::npos ||
              input.find("tidemill-runtime") != std::string_view::npos ||
              input.find('\\') != std::string_view::npos);
  }
}

}  // namespace
}  // namespace tidemill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  tidemill::FuzzConfig(input);
  tidemill::FuzzFiles(input);
  return 0;
}
