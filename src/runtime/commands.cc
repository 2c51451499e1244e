// SPDX-License-Identifier: Apache-2.0
#include "runtime/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <utility>

#include "cdi/find_nvidia.h"
#include "cdi/generate.h"
#include "cdi/host_nodes.h"
#include "cdi/neuron.h"
#include "cdi/nvidia.h"
#include "cdi/read_folders.h"
#include "runtime/files.h"
#include "runtime/hooks.h"
#include "wire/cdi_format.h"
#include "wire/runtime_json.h"

namespace tidemill {
namespace {

enum Exit : int { kDone = 0, kRefused = 1 };

// A runtime writes less than 10 kB.
constexpr std::size_t kStateBytes = 1024 * 1024;

int Refuse(const Error& error) {
  std::fprintf(stderr, "tidemill-runtime: %s\n", error.reason.c_str());
  return kRefused;
}

void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int RunHook(const std::function<Result<void>(const std::string& root)>& hook) {
  const auto state = ReadWholeFd(STDIN_FILENO, kStateBytes, "the container's state");
  if (!state) return Refuse(state.error());
  const auto root = RootOfState(*state);
  if (!root) return Refuse(root.error());
  const auto done = hook(*root);
  return done ? kDone : Refuse(done.error());
}

// "nvidia.com-gpu.json"
std::string FileOf(const CdiSpec& spec) {
  std::string name = spec.kind;
  std::replace(name.begin(), name.end(), '/', '-');
  return name + ".json";
}

Result<std::vector<CdiSpec>> SpecsOf(const GenerateOptions& options) {
  std::vector<CdiSpec> specs;
  if (!options.devices.empty()) {
    const std::string kind = options.kind.empty() ? kLocalKind : options.kind;
    TIDEMILL_TRY(CdiSpec spec, GenerateForPaths(kind, options.devices));
    for (const CdiDevice& device : spec.devices) {
      TIDEMILL_TRY_VOID(ResolveNodes(device.edits, "/"));
    }
    specs.push_back(std::move(spec));
    return specs;
  }
  if (!options.kind.empty()) return Fail(Code::kInvalid, "--kind is for nodes: name --device too");
  const std::string& root = options.driver_root;
  if (auto spec = MakeNvidiaSpec(FindNvidia(root), root, options.program)) {
    specs.push_back(*std::move(spec));
  }
  if (auto spec = MakeNeuronSpec(FindNeurons(root), root)) specs.push_back(*std::move(spec));
  if (!specs.empty()) return specs;
  return Fail(Code::kNotFound, "there is no device of NVIDIA or AWS Neuron under " + root +
                                   "; name the nodes of others with --device");
}

}  // namespace

int ListCdi(const std::vector<std::string>& folders, bool json) {
  const CdiRegistry registry = ReadCdiFolders(folders);
  if (json) {
    Print(FormatCdiList(registry.Names(), registry.Troubles()));
    return kDone;
  }
  for (const CdiName& name : registry.Names()) Print(FormatCdiName(name) + "\n");
  for (const std::string& trouble : registry.Troubles()) {
    std::fprintf(stderr, "%s\n", trouble.c_str());
  }
  if (registry.Names().empty()) {
    std::string places;
    for (const std::string& folder : folders) places += (places.empty() ? "" : ", ") + folder;
    std::fprintf(stderr, "no device is described in %s; see 'tidemill-runtime cdi generate'\n",
                 places.c_str());
  }
  return kDone;
}

int ValidateCdi(const std::vector<std::string>& files) {
  int code = kDone;
  for (const std::string& file : files) {
    const auto spec = ReadCdiFile(file);
    if (spec) continue;
    std::fprintf(stderr, "%s: %s\n", file.c_str(), spec.error().reason.c_str());
    code = kRefused;
  }
  return code;
}

int GenerateCdi(const GenerateOptions& options) {
  const auto specs = SpecsOf(options);
  if (!specs) return Refuse(specs.error());
  const bool is_folder = std::filesystem::is_directory(options.output);
  if (specs->size() > 1 && !options.output.empty() && !is_folder) {
    return Refuse({Code::kInvalid, "--output: there is more than one kind; name a folder"});
  }
  for (const CdiSpec& spec : *specs) {
    const std::string text = FormatCdiSpec(spec);
    if (options.output.empty()) {
      Print(text);
      continue;
    }
    const std::string path = is_folder ? options.output + "/" + FileOf(spec) : options.output;
    const auto written = ReplaceWhole(path, text, Outlives::kPowerCut);
    if (!written) return Refuse(written.error());
    Print("Wrote " + path + ": " + std::to_string(spec.devices.size()) + " of " + spec.kind + "\n");
  }
  return kDone;
}

int HookUpdateLdCache(const std::vector<std::string>& folders, const std::string& ldconfig) {
  return RunHook([&](const std::string& root) { return UpdateLdCache(root, folders, ldconfig); });
}

int HookCreateSymlinks(const std::vector<std::string>& links) {
  return RunHook([&](const std::string& root) { return CreateSymlinks(root, links); });
}

}  // namespace tidemill
