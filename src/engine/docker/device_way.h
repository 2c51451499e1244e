// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/docker_json.h"

namespace tidemill {

// As tidemill-runtime is registered with the Engine, and what it is told of the devices by.
inline constexpr char kDeviceRuntime[] = "tidemill";
inline constexpr char kDeviceVariable[] = "TIDEMILL_CDI";

// What of a Docker Engine decides how devices of CDI specs enter its containers.
struct DeviceAbilities {
  std::string engine = {};                // "docker 20.10.24"
  std::vector<std::string> folders = {};  // of the specs that the devices are from
  DockerInfo info = {};
  bool nvidia_hook = false;  // the one that the Engine calls for DeviceRequests is installed
};

// What a container's making says of its devices.
struct DeviceWay {
  std::vector<std::string> paths = {};
  std::vector<DockerDeviceRequest> requests = {};
  std::string runtime = {};
  std::vector<std::string> env = {};
  bool operator==(const DeviceWay&) const = default;
};

// Devices are paths or names of CDI specs. A path is given as it is; the others in the first of
// these ways that the Engine has:
//   its own CDI support, if it reads all the folders that the agent reads
//   the runtime "tidemill"
//   NVIDIA's hook, if all of them are nvidia.com/gpu
// kUnavailable: it has none; the reason tells a person what to do. A container without devices is
// shut to those that a runtime would give to whatever image asks for them.
Result<DeviceWay> WayOf(const std::vector<std::string>& devices, const DeviceAbilities& abilities);

}  // namespace tidemill
