// SPDX-License-Identifier: Apache-2.0
#include "runtime/bundle.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cdi/host_nodes.h"
#include "cdi/read_folders.h"
#include "runtime/config.h"
#include "runtime/files.h"
#include "wire/oci_json.h"

namespace tidemill {
namespace {

// Engines write some 20 kB; what is longer we do not hold in memory.
constexpr std::size_t kConfigBytes = 8 * 1024 * 1024;

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

// The edits that the specs have for the devices, with nothing left open.
Result<CdiEdits> EditsFor(const std::vector<std::string>& devices, const RuntimeConfig& config) {
  if (devices.empty()) return CdiEdits{};
  const auto& folders = config.cdi_folders.empty() ? kCdiFolders : config.cdi_folders;
  const CdiRegistry registry = ReadCdiFolders(folders);
  auto edits = registry.EditsOf(devices);
  if (!edits) {
    if (edits.error().code == Code::kNotFound) {
      edits.error().reason += "; specs are looked for in " + Joined(folders) +
                              ", and 'tidemill-runtime cdi list' shows what they have";
    }
    return edits;
  }
  auto resolved = ResolveNodes(*std::move(edits), "/");
  if (resolved) return resolved;
  resolved.error().reason +=
      "; is the driver loaded? If its nodes have changed, 'tidemill-runtime cdi generate' writes "
      "its spec anew";
  return While(Joined(devices), resolved.error());
}

}  // namespace

Result<BundleChange> EditBundle(const RuntimeCall& call, const RuntimeConfig& config) {
  const std::string path = call.ConfigPath();
  const auto text = ReadWhole(path, kConfigBytes);
  if (!text && text.error().code == Code::kNotFound) return BundleChange{};
  if (!text) return tl::unexpected(text.error());
  const AskedBy by =
      config.from_environment ? AskedBy::kAnnotationsAndEnvironment : AskedBy::kAnnotations;
  const auto asks = ParseOciAsks(*text, by);
  if (!asks) return While(path, asks.error());
  BundleChange change{.devices = asks->devices};
  TIDEMILL_TRY(CdiEdits edits, EditsFor(asks->devices, config));
  TIDEMILL_TRY(std::vector<OciHook> hooks, ReadHookFolders(config.hook_folders));
  change.hooks = hooks.size();
  change.edited = asks->asks || change.hooks > 0;
  if (!change.edited) return change;
  std::move(hooks.begin(), hooks.end(), std::back_inserter(edits.hooks));
  const auto edited = EditOciConfig(*text, edits);
  if (!edited) return While(path, edited.error());
  TIDEMILL_TRY_VOID(ReplaceWhole(path, *edited, Outlives::kProcess));
  return change;
}

}  // namespace tidemill
