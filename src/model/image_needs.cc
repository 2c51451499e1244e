// SPDX-License-Identifier: Apache-2.0
#include "model/image_needs.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/job.h"

namespace tidemill {
namespace {

constexpr std::string_view kRequireCuda = "NVIDIA_REQUIRE_CUDA=";
constexpr std::string_view kLeastCuda = "cuda>=";
constexpr std::string_view kLabel = "tidemill.requires.";

// "cuda>=12.2 brand=tesla,driver>=470 ...": spaces stand between ways, each of which is enough.
std::optional<std::int32_t> LeastCuda(std::string_view ways) {
  std::optional<std::int32_t> least;
  while (!ways.empty()) {
    const std::size_t space = std::min(ways.find(' '), ways.size());
    std::string_view way = ways.substr(0, space);
    ways.remove_prefix(std::min(space + 1, ways.size()));
    if (!way.starts_with(kLeastCuda)) continue;
    way.remove_prefix(kLeastCuda.size());
    const auto version = ParseDeviceVersion(way);
    if (version && (!least || *version < *least)) least = version;
  }
  return least;
}

}  // namespace

std::map<std::string, std::int32_t> VersionsAskedBy(const ImageConfig& config) {
  std::map<std::string, std::int32_t> versions;
  for (const std::string_view variable : config.env) {
    if (!variable.starts_with(kRequireCuda)) continue;
    const auto least = LeastCuda(variable.substr(kRequireCuda.size()));
    if (least) versions["nvidia.com/gpu"] = *least;
  }
  for (const auto& [name, value] : config.labels) {
    if (!name.starts_with(kLabel)) continue;
    const auto version = ParseDeviceVersion(value);
    if (version) versions[name.substr(kLabel.size())] = *version;
  }
  return versions;
}

Devices WithImageNeeds(Devices asked, const ImageConfig& config) {
  for (const auto& [kind, version] : VersionsAskedBy(config)) {
    const auto found = asked.find(kind);
    if (found != asked.end() && found->second.version == 0) found->second.version = version;
  }
  return asked;
}

bool AsksItsImage(const Devices& asked) {
  return std::any_of(asked.begin(), asked.end(), [](const auto& device) {
    return device.first != kWholeMachine && device.second.version == 0;
  });
}

}  // namespace tidemill
