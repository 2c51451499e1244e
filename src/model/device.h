// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// How many devices of one kind. Of a machine: how many it has, and what each of them is at least.
// Of an item: how many it needs, and what each must be at least.
struct DeviceCount {
  // Most devices are asked for by their number alone.
  DeviceCount(std::int32_t number = 0) : count(number) {}  // NOLINT(google-explicit-constructor)

  std::int32_t count;
  std::string model = {};    // "NVIDIA A10G"; empty: not known, or any
  std::int64_t memory = 0;   // bytes of one; 0: not known, or any
  std::int32_t version = 0;  // see ParseDeviceVersion; 0: not known, or any
  // Of a machine: their names, of which `count` are free; empty: "0", "1" and so on. Of an item:
  // those that it has, and no others; empty: any.
  std::vector<std::string> ids = {};
  bool operator==(const DeviceCount&) const = default;
  auto operator<=>(const DeviceCount&) const = default;
};

using Devices = std::map<std::string, DeviceCount>;  // by kind

// Letters, digits, '.', '_', '-' and '/', beginning with a letter or digit.
bool IsDeviceKind(std::string_view text);

// Printable, and none of what FormatDevices needs for itself; at most kDeviceModelBytes.
bool IsDeviceModel(std::string_view text);
inline constexpr std::size_t kDeviceModelBytes = 64;

// Letters, digits, '.', '_', '-' and ':', beginning with a letter or digit: what a CDI spec may
// call a device; at most kDeviceIdBytes.
bool IsDeviceId(std::string_view text);
inline constexpr std::size_t kDeviceIdBytes = 64;

// The highest version of CUDA, of Neuron, or of whatever programs call, that a device's driver
// runs; of an item: the least. "12.2" is 12002. Nothing if it is not of this form.
std::optional<std::int32_t> ParseDeviceVersion(std::string_view text);
std::string FormatDeviceVersion(std::int32_t version);

// Each device of `has` is what `asked` says, whatever their numbers are, and those that are asked
// for by name are among them. A model is asked for by some of its words: "A10G" is "NVIDIA A10G",
// and "A10" is not.
bool IsSuch(const DeviceCount& has, const DeviceCount& asked);

// "nvidia.com/gpu=2 example.com/fpga=1", with more behind a comma if more is known. For stores and
// labels.
std::string FormatDevices(const Devices& devices);
std::optional<Devices> ParseDevices(std::string_view text);

// The names of a machine's devices, written out.
std::vector<std::string> DeviceIds(const DeviceCount& has);
// The names are left away if they are what is meant without them.
void SetDeviceIds(DeviceCount& has, std::vector<std::string> ids);

// "2 nvidia.com/gpu (A10G, 20 GiB, version 12.2)"
std::string DeviceInWords(const std::string& kind, const DeviceCount& device);

}  // namespace tidemill
