// SPDX-License-Identifier: Apache-2.0
#include "cdi/find_nvidia.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "cdi/nvidia_said.h"
#include "cdi/run_for_text.h"
#include "cdi/under_root.h"

namespace tidemill {
namespace {

// It answers in a second or two, or not at all when a device hangs.
constexpr std::chrono::seconds kSmiTimeout{20};
// A link to a link to a library is usual; a circle is none.
constexpr int kMostLinks = 4;

constexpr std::string_view kControlNodes[] = {"/dev/nvidiactl", "/dev/nvidia-modeset",
                                              "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"};
constexpr std::string_view kTools[] = {"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced",
                                       "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"};
constexpr std::string_view kToolFolders[] = {
    "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/nvidia/bin", "/opt/bin", "/bin"};
constexpr std::string_view kLibraryFolders[] = {"/usr/lib/x86_64-linux-gnu",
                                                "/usr/lib/aarch64-linux-gnu",
                                                "/usr/lib64",
                                                "/usr/lib",
                                                "/usr/local/nvidia/lib64",
                                                "/usr/local/lib64",
                                                "/usr/local/lib",
                                                "/lib/x86_64-linux-gnu",
                                                "/lib/aarch64-linux-gnu",
                                                "/lib64",
                                                "/lib"};
constexpr std::string_view kSubFolders[] = {"", "/nvidia", "/nvidia/current", "/vdpau"};

bool IsFileUnder(const std::string& root, const std::string& path) {
  struct stat found = {};
  return stat(UnderRoot(root, path).c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

// All that is a number of dots and digits after "libcuda.so.".
std::string VersionInName(std::string_view name) {
  constexpr std::string_view kCuda = "libcuda.so.";
  if (!name.starts_with(kCuda)) return "";
  name.remove_prefix(kCuda.size());
  const bool is_version = name.find('.') != std::string_view::npos &&
                          name.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_version ? std::string(name) : "";
}

std::vector<std::string> LibraryFolders() {
  std::vector<std::string> folders;
  for (const std::string_view folder : kLibraryFolders) {
    for (const std::string_view below : kSubFolders) {
      folders.push_back(std::string(folder) + std::string(below));
    }
  }
  return folders;
}

// That of the only libcuda, where the driver itself does not say it.
std::string VersionOfLibraries(const std::string& root) {
  std::set<std::string> versions;
  for (const std::string& folder : LibraryFolders()) {
    for (const std::string& name : NamesUnder(root, folder)) {
      const std::string version = VersionInName(name);
      if (!version.empty()) versions.insert(version);
    }
  }
  return versions.size() == 1 ? *versions.begin() : "";
}

// The links of a folder that lead, within it, to one of its libraries.
std::vector<FoundLink> LinksTo(const std::set<std::string>& libraries, const std::string& root,
                               const std::string& folder) {
  std::map<std::string, std::string> targets;
  for (const std::string& name : NamesUnder(root, folder)) {
    char target[256];
    const std::string path = UnderRoot(root, folder + "/" + name);
    const ssize_t size = readlink(path.c_str(), target, sizeof target);
    if (size > 0 && size < static_cast<ssize_t>(sizeof target)) {
      targets.emplace(name, std::string(target, static_cast<std::size_t>(size)));
    }
  }
  std::vector<FoundLink> links;
  for (const auto& [name, target] : targets) {
    std::string end = target;
    for (int i = 1; i < kMostLinks && targets.contains(end); ++i) end = targets[end];
    if (libraries.contains(end)) links.push_back({target, folder + "/" + name});
  }
  return links;
}

// All libraries that carry the driver's version in their names: they work with no other driver.
void FindLibraries(const std::string& root, FoundNvidia& found) {
  if (found.driver.empty()) return;
  const std::string ending = ".so." + found.driver;
  std::set<std::pair<dev_t, ino_t>> seen;  // /lib is often /usr/lib
  for (const std::string& folder : LibraryFolders()) {
    std::set<std::string> here;
    for (const std::string& name : NamesUnder(root, folder)) {
      struct stat file = {};
      const std::string path = folder + "/" + name;
      if (!name.ends_with(ending) || lstat(UnderRoot(root, path).c_str(), &file) != 0) continue;
      if (!S_ISREG(file.st_mode) || !seen.emplace(file.st_dev, file.st_ino).second) continue;
      here.insert(name);
      found.libraries.push_back(path);
    }
    if (here.empty()) continue;
    for (FoundLink& link : LinksTo(here, root, folder)) found.links.push_back(std::move(link));
  }
}

void FindTools(const std::string& root, FoundNvidia& found) {
  for (const std::string_view tool : kTools) {
    for (const std::string_view folder : kToolFolders) {
      const std::string path = std::string(folder) + "/" + std::string(tool);
      if (!IsFileUnder(root, path)) continue;
      found.tools.push_back(path);
      break;
    }
  }
}

struct Answers {
  std::vector<SmiGpu> gpus;
  SmiHeader header;
};

Answers AskSmi(const std::string& root, const std::vector<std::string>& tools) {
  Answers answers;
  if (tools.empty() || !tools.front().ends_with("/nvidia-smi")) return answers;
  const std::string smi = UnderRoot(root, tools.front());
  const auto table = RunForText(
      {smi, "--query-gpu=index,uuid,name,memory.total,pci.bus_id", "--format=csv,noheader,nounits"},
      kSmiTimeout);
  if (!table) return answers;  // whoever does not answer once is not asked again
  answers.gpus = ParseSmiGpus(*table);
  const auto header = RunForText({smi}, kSmiTimeout);
  if (header) answers.header = ParseSmiHeader(*header);
  return answers;
}

// A GPU, and what its number depends on.
struct Numbered {
  int index = std::numeric_limits<int>::max();  // NVML's
  std::string bus = {};
  int minor = 0;
  FoundGpu gpu = {};
};

// By their nodes, which /proc joins to places on the bus, and these to what nvidia-smi says.
std::vector<FoundGpu> FindGpus(const std::string& root, const std::vector<SmiGpu>& said) {
  const std::string folder = "/proc/driver/nvidia/gpus";
  std::map<int, std::pair<std::string, GpuInformation>> by_minor;
  for (const std::string& bus : NamesUnder(root, folder)) {
    GpuInformation one = ParseGpuInformation(TextUnder(root, folder + "/" + bus + "/information"));
    by_minor.try_emplace(one.minor, PlainBus(bus), one);
  }
  std::vector<Numbered> numbered;
  for (const std::string& name : NamesUnder(root, "/dev")) {
    Numbered one{.minor = NumberAfter("nvidia", name), .gpu = {.node = "/dev/" + name}};
    if (one.minor < 0 || !IsCharDeviceUnder(root, one.gpu.node)) continue;
    const auto known = by_minor.find(one.minor);
    if (known != by_minor.end()) {
      one.bus = known->second.first;
      one.gpu.model = known->second.second.model;
      one.gpu.uuid = known->second.second.uuid;
    }
    for (const SmiGpu& smi : said) {
      if (one.bus.empty() || smi.bus != one.bus) continue;
      one.index = smi.index;
      one.gpu.memory = smi.memory;
      if (!smi.uuid.empty()) one.gpu.uuid = smi.uuid;
      if (!smi.model.empty()) one.gpu.model = smi.model;
    }
    numbered.push_back(std::move(one));
  }
  std::sort(numbered.begin(), numbered.end(), [](const Numbered& a, const Numbered& b) {
    return std::tie(a.index, a.bus, a.minor) < std::tie(b.index, b.bus, b.minor);
  });
  std::vector<FoundGpu> gpus;
  for (Numbered& one : numbered) gpus.push_back(std::move(one.gpu));
  return gpus;
}

}  // namespace

FoundNvidia FindNvidia(const std::string& root) {
  FoundNvidia found;
  for (const std::string_view node : kControlNodes) {
    if (IsCharDeviceUnder(root, std::string(node))) found.control_nodes.emplace_back(node);
  }
  FindTools(root, found);
  const Answers answers = AskSmi(root, found.tools);
  found.gpus = FindGpus(root, answers.gpus);
  found.cuda = answers.header.cuda;
  found.driver = ParseDriverVersion(TextUnder(root, "/proc/driver/nvidia/version"));
  if (found.driver.empty()) found.driver = answers.header.driver;
  if (found.driver.empty()) found.driver = VersionOfLibraries(root);
  FindLibraries(root, found);
  return found;
}

}  // namespace tidemill
