// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/machine_devices.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "agent/device_variables.h"
#include "base/limits.h"
#include "model/device.h"
#include "model/job.h"

namespace tidemill {
namespace {

constexpr const char* kNeuron = "aws.amazon.com/neuron";
// One less than a server takes: the whole machine is a kind too.
constexpr std::size_t kKindsMost = limits::kDeviceKinds - 1;

// As AWS Neuron's driver tells it; 0: it does not.
int NeuronCores(const MachineDevice& device) {
  if (device.kind != kNeuron) return 0;
  std::ifstream file("/sys/class/neuron_device/neuron" + VendorIdOf(device) + "/core_count");
  int cores = 0;
  return file >> cores && cores > 0 && cores < 1000 ? cores : 0;
}

// The highest version of CUDA that its driver runs; of AWS Neuron the driver's own, of which the
// first two parts count. 0: not known.
std::int32_t HighestVersion(const FoundDevice& device) {
  if (device.name.kind != kNeuron) return ParseDeviceVersion(device.cuda).value_or(0);
  const std::size_t first = device.driver.find('.');
  const std::size_t end =
      first == std::string::npos ? std::string::npos : device.driver.find('.', first + 1);
  return ParseDeviceVersion(device.driver.substr(0, end)).value_or(0);
}

MachineDevice DeviceOf(const FoundDevice& found) {
  MachineDevice device{found.name.kind, FormatCdiName(found.name), found.nodes};
  device.cores = found.cores > 0 ? static_cast<int>(found.cores) : NeuronCores(device);
  if (IsDeviceModel(found.model)) device.model = found.model;
  device.memory = found.memory;
  device.version = HighestVersion(found);
  return device;
}

}  // namespace

Result<std::vector<MachineDevice>> DevicesOfFlags(const std::vector<std::string>& texts) {
  std::vector<MachineDevice> devices;
  std::set<std::string> paths;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const std::string kind = text.substr(0, sign);
    const std::string path = sign == std::string::npos ? "" : text.substr(sign + 1);
    if (!IsDeviceKind(kind) || kind == kWholeMachine || path.empty() || path.front() != '/') {
      return Fail(Code::kInvalid, "--device: not like nvidia.com/gpu=/dev/nvidia0: " + text);
    }
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      return Fail(Code::kInvalid, "--device: there is no " + path);
    }
    if (!paths.insert(path).second) {
      return Fail(Code::kInvalid, "--device: " + path + " is given twice");
    }
    MachineDevice& device = devices.emplace_back(MachineDevice{kind, path});
    device.cores = NeuronCores(device);
  }
  return devices;
}

void AddSpecDevices(const std::vector<FoundDevice>& found, std::vector<MachineDevice>& devices,
                    std::vector<std::string>& troubles) {
  std::set<std::string> paths;
  std::set<std::string> kinds;
  for (const MachineDevice& device : devices) {
    paths.insert(device.path);
    kinds.insert(device.kind);
  }
  for (const FoundDevice& one : found) {
    const std::string& kind = one.name.kind;
    const bool is_given = std::any_of(one.nodes.begin(), one.nodes.end(),
                                      [&](const auto& node) { return paths.contains(node); });
    if (is_given) continue;
    if (!IsDeviceKind(kind)) {
      troubles.push_back(kind + ": no kind of device may have a name so long");
    } else if (!kinds.contains(kind) && kinds.size() >= kKindsMost) {
      troubles.push_back(kind + ": a machine has at most " + std::to_string(kKindsMost) +
                         " kinds of devices");
    } else {
      kinds.insert(kind);
      devices.push_back(DeviceOf(one));
    }
  }
}

}  // namespace tidemill
