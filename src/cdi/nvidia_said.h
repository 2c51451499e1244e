// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// What NVIDIA's driver and its tool say, as text. What is not there is empty, 0 or -1.

// A file of /proc/driver/nvidia/gpus.
struct GpuInformation {
  std::string model = {};
  std::string uuid = {};
  int minor = -1;  // of its node
  bool operator==(const GpuInformation&) const = default;
};
GpuInformation ParseGpuInformation(std::string_view text);

// The driver's version, as /proc/driver/nvidia/version has it: "535.104.05".
std::string ParseDriverVersion(std::string_view text);

// A line of nvidia-smi --query-gpu=index,uuid,name,memory.total,pci.bus_id
// --format=csv,noheader,nounits.
struct SmiGpu {
  int index = -1;
  std::string uuid = {};
  std::string model = {};
  std::int64_t memory = 0;  // bytes
  std::string bus = {};     // as PlainBus gives it
  bool operator==(const SmiGpu&) const = default;
};
std::vector<SmiGpu> ParseSmiGpus(std::string_view text);

// What stands above nvidia-smi's table.
struct SmiHeader {
  std::string driver = {};
  std::string cuda = {};
  bool operator==(const SmiHeader&) const = default;
};
SmiHeader ParseSmiHeader(std::string_view text);

// One spelling for a place on the bus: nvidia-smi's "00000000:3B:00.0" and the kernel's
// "0000:3b:00.0" are "0:3b:00.0".
std::string PlainBus(std::string_view bus);

}  // namespace tidemill
