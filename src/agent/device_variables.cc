// SPDX-License-Identifier: Apache-2.0
#include "agent/device_variables.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "model/outcome.h"

namespace tidemill {
namespace {

constexpr std::string_view kNvidia = "nvidia.com/gpu";
constexpr std::string_view kNeuron = "aws.amazon.com/neuron";

using List = std::vector<MachineDevice>;

List OfKind(const List& devices, std::string_view kind) {
  List some;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(some),
               [kind](const MachineDevice& device) { return device.kind == kind; });
  return some;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// Nothing if one of them has none.
std::optional<std::vector<std::string>> IdsOf(const List& devices) {
  std::vector<std::string> ids;
  for (const MachineDevice& device : devices) {
    ids.push_back(VendorIdOf(device));
    if (ids.back().empty()) return std::nullopt;
  }
  return ids;
}

std::optional<int> NumberOf(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string RangeOf(int first, int count) {
  std::string text = std::to_string(first);
  if (count > 1) text += "-" + std::to_string(first + count - 1);
  return text;
}

// Nothing if it is not known.
std::optional<std::string> CoresOf(const List& devices, bool apart) {
  std::vector<std::string> ranges;
  int seen = 0;
  for (const MachineDevice& device : devices) {
    // All of a machine have as many.
    const auto number = NumberOf(VendorIdOf(device));
    if (device.cores <= 0 || (!apart && !number)) return std::nullopt;
    if (!apart) ranges.push_back(RangeOf(*number * device.cores, device.cores));
    seen += device.cores;
  }
  return apart ? RangeOf(0, seen) : Join(ranges);
}

void AddNvidia(const List& devices, bool apart, std::vector<std::string>& out) {
  if (devices.empty()) return;
  const auto ids = IdsOf(devices);
  if (ids) out.push_back("NVIDIA_VISIBLE_DEVICES=" + Join(*ids));
  std::vector<std::string> counted;
  for (std::size_t i = 0; i < devices.size(); ++i) counted.push_back(std::to_string(i));
  if (apart || ids) out.push_back("CUDA_VISIBLE_DEVICES=" + Join(apart ? counted : *ids));
}

void AddNeuron(const List& devices, bool apart, std::vector<std::string>& out) {
  if (devices.empty()) return;
  if (const auto ids = IdsOf(devices)) out.push_back("AWS_NEURON_VISIBLE_DEVICES=" + Join(*ids));
  if (const auto cores = CoresOf(devices, apart)) {
    out.push_back("NEURON_RT_VISIBLE_CORES=" + *cores);
  }
}

}  // namespace

std::string VendorIdOf(const MachineDevice& device) {
  std::string_view path = device.path;
  if (device.of_spec()) path.remove_prefix(path.find('=') + 1);
  if (device.of_spec() && device.kind != kNeuron) {
    // Its maker also names them "gpu0" and "mig0:1".
    const bool is_typed = path.starts_with("gpu") || path.starts_with("mig");
    return std::string(is_typed ? path.substr(3) : path);
  }
  // The digits at the end of its node's name, or of the spec's name for it.
  std::size_t digits = path.size();
  while (digits > 0 && path[digits - 1] >= '0' && path[digits - 1] <= '9') --digits;
  return std::string(path.substr(digits));
}

std::vector<std::string> DeviceVariables(const List& devices, bool apart) {
  std::vector<std::string> out;
  if (devices.empty()) return out;
  std::vector<std::string> names;
  for (const MachineDevice& device : devices) names.push_back(device.path);
  out.push_back("TIDEMILL_DEVICES=" + Join(names));
  AddNvidia(OfKind(devices, kNvidia), apart, out);
  AddNeuron(OfKind(devices, kNeuron), apart, out);
  return out;
}

std::string OutcomeDevices(const List& devices) {
  std::string text;
  std::string_view kind;
  for (const MachineDevice& device : devices) {
    const std::string name =
        device.of_spec() ? device.path.substr(device.path.find('=') + 1) : device.path;
    std::string more = device.kind == kind ? "," : (text.empty() ? "" : " ") + device.kind + "=";
    more += name;
    if (text.size() + more.size() > kOutcomeDevicesBytes) break;
    text += more;
    kind = device.kind;
  }
  return text;
}

void SetDeviceVariables(const List& devices, bool apart, std::vector<std::string>& env) {
  for (std::string& variable : DeviceVariables(devices, apart)) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(env, [&name](const std::string& one) { return one.starts_with(name); });
    env.push_back(std::move(variable));
  }
}

}  // namespace tidemill
