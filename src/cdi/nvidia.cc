// SPDX-License-Identifier: Apache-2.0
#include "cdi/nvidia.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "cdi/generate.h"
#include "cdi/inventory.h"
#include "cdi/under_root.h"

namespace tidemill {
namespace {

// A loader's cache is made in a second; a container must not wait for a stuck hook for ever.
constexpr std::chrono::seconds kHookTimeout{60};

CdiNode NodeAt(const std::string& path, const std::string& root) {
  CdiNode node{.path = path};
  const std::string on_machine = UnderRoot(root, path);
  if (on_machine != path) node.host_path = on_machine;
  return node;
}

CdiMount MountOf(const std::string& path, const std::string& root) {
  return {.host_path = UnderRoot(root, path),
          .container_path = path,
          .options = {"ro", "nosuid", "nodev", "bind"}};
}

OciHook HookOf(const std::string& runtime, const std::string& name) {
  return {.stage = HookStage::kCreateContainer,
          .path = runtime,
          .args = {runtime.substr(runtime.rfind('/') + 1), "hook", name},
          .timeout = kHookTimeout};
}

std::map<std::string, std::string> Annotations(const FoundNvidia& found, const FoundGpu& gpu) {
  std::map<std::string, std::string> said = {{kCdiModel, gpu.model},
                                             {kCdiDriver, found.driver},
                                             {kCdiCuda, found.cuda},
                                             {kCdiUuid, gpu.uuid}};
  if (gpu.memory > 0) said[kCdiMemory] = std::to_string(gpu.memory);
  std::erase_if(said, [](const auto& one) { return one.second.empty(); });
  return said;
}

CdiEdits CommonEdits(const FoundNvidia& found, const std::string& root,
                     const std::string& runtime) {
  CdiEdits edits;
  for (const std::string& node : found.control_nodes) edits.nodes.push_back(NodeAt(node, root));
  std::vector<std::string> folders;
  for (const std::string& library : found.libraries) {
    edits.mounts.push_back(MountOf(library, root));
    const std::string folder = library.substr(0, library.rfind('/'));
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(folder);
    }
  }
  for (const std::string& tool : found.tools) edits.mounts.push_back(MountOf(tool, root));
  // The links first: the cache names what they point to.
  if (!found.links.empty()) {
    OciHook hook = HookOf(runtime, "create-symlinks");
    for (const FoundLink& link : found.links) {
      hook.args.insert(hook.args.end(), {"--link", link.target + "::" + link.path});
    }
    edits.hooks.push_back(std::move(hook));
  }
  if (!folders.empty()) {
    OciHook hook = HookOf(runtime, "update-ldcache");
    for (const std::string& folder : folders) {
      hook.args.insert(hook.args.end(), {"--folder", folder});
    }
    edits.hooks.push_back(std::move(hook));
  }
  return edits;
}

}  // namespace

std::optional<CdiSpec> MakeNvidiaSpec(const FoundNvidia& found, const std::string& root,
                                      const std::string& runtime) {
  if (found.gpus.empty()) return std::nullopt;
  CdiSpec spec{.version = kMadeCdiVersion, .kind = "nvidia.com/gpu"};
  CdiDevice all{.name = "all"};
  std::vector<CdiDevice> aliases;
  for (const FoundGpu& gpu : found.gpus) {
    CdiDevice device{.name = std::to_string(spec.devices.size())};
    device.annotations = Annotations(found, gpu);
    device.edits.nodes = {NodeAt(gpu.node, root)};
    all.edits.nodes.push_back(device.edits.nodes.front());
    // A number cannot be taken for one, nor can "all".
    if (gpu.uuid.starts_with("GPU-") && IsCdiDeviceName(gpu.uuid)) {
      aliases.push_back(device);
      aliases.back().name = gpu.uuid;
    }
    spec.devices.push_back(std::move(device));
  }
  for (CdiDevice& alias : aliases) spec.devices.push_back(std::move(alias));
  spec.devices.push_back(std::move(all));
  spec.edits = CommonEdits(found, root, runtime);
  return spec;
}

}  // namespace tidemill
