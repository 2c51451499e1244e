// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/device_way.h"

#include <algorithm>

namespace tidemill {
namespace {

constexpr std::string_view kNvidiaKind = "nvidia.com/gpu=";
constexpr char kNvidiaRuntime[] = "nvidia";

bool Has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// It finds devices by name, so it must have read the same specs.
bool KnowsCdi(const DeviceAbilities& abilities) {
  const std::vector<std::string>& known = abilities.info.cdi_folders;
  return !known.empty() &&
         std::all_of(abilities.folders.begin(), abilities.folders.end(),
                     [&known](const std::string& folder) { return Has(known, folder); });
}

bool GivesNvidia(const std::vector<std::string>& names, const DeviceAbilities& abilities) {
  return (abilities.nvidia_hook || Has(abilities.info.runtimes, kNvidiaRuntime)) &&
         std::all_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.starts_with(kNvidiaKind); });
}

// The same for all devices, so that it is told once.
std::string Refusal(const DeviceAbilities& abilities) {
  const std::vector<std::string>& known = abilities.info.cdi_folders;
  std::string text = abilities.engine + " cannot give devices of CDI specs to containers: ";
  text += known.empty() ? "it does not read such specs"
                        : "it reads " + Join(known) + ", and not " + Join(abilities.folders);
  return text + "; run on the machine: sudo tidemill-runtime install --docker";
}

// "0,3" of /dev/nvidia0 and /dev/nvidia3; what NVIDIA takes for none if there are no such.
std::string NvidiaNumbers(const std::vector<std::string>& paths) {
  constexpr std::string_view kNode = "/dev/nvidia";
  std::vector<std::string> numbers;
  for (const std::string& path : paths) {
    if (!path.starts_with(kNode)) continue;
    const std::string number = path.substr(kNode.size());
    if (!number.empty() && number.find_first_not_of("0123456789") == number.npos) {
      numbers.push_back(number);
    }
  }
  return numbers.empty() ? "void" : Join(numbers);
}

// Where a runtime that gives devices is everybody's, an image could ask it for others' by a
// variable of its own.
void ShutOthers(const DeviceAbilities& abilities, DeviceWay& way) {
  const std::string& runtime = abilities.info.default_runtime;
  if (runtime == kDeviceRuntime) way.env.push_back(std::string(kDeviceVariable) + "=");
  if (runtime == kNvidiaRuntime) {
    way.env.push_back("NVIDIA_VISIBLE_DEVICES=" + NvidiaNumbers(way.paths));
  }
}

}  // namespace

Result<DeviceWay> WayOf(const std::vector<std::string>& devices, const DeviceAbilities& abilities) {
  DeviceWay way;
  std::vector<std::string> names;
  for (const std::string& device : devices) {
    (device.starts_with('/') ? way.paths : names).push_back(device);
  }
  if (names.empty()) {
    ShutOthers(abilities, way);
    return way;
  }
  if (KnowsCdi(abilities)) {
    way.requests.push_back({"cdi", names});
    ShutOthers(abilities, way);
  } else if (Has(abilities.info.runtimes, kDeviceRuntime)) {
    way.runtime = kDeviceRuntime;
    way.env.push_back(std::string(kDeviceVariable) + "=" + Join(names));
  } else if (GivesNvidia(names, abilities)) {
    std::vector<std::string> ids;
    for (const std::string& name : names) ids.push_back(name.substr(kNvidiaKind.size()));
    way.requests.push_back({"nvidia", std::move(ids), true});
  } else {
    return Fail(Code::kUnavailable, Refusal(abilities));
  }
  return way;
}

}  // namespace tidemill
