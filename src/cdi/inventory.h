// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cdi/registry.h"
#include "model/cdi.h"

namespace tidemill {

// What the specs that we make say of a device, as annotations; those of others may say it too.
inline constexpr const char* kCdiModel = "tidemill/model";    // "NVIDIA A10G"
inline constexpr const char* kCdiMemory = "tidemill/memory";  // bytes
inline constexpr const char* kCdiDriver = "tidemill/driver";  // "535.104.05"
inline constexpr const char* kCdiCuda = "tidemill/cuda";      // the highest that the driver runs
inline constexpr const char* kCdiCores = "tidemill/cores";
inline constexpr const char* kCdiUuid = "tidemill/uuid";

// A device that can be given away whole. What is not known is empty, or 0.
struct FoundDevice {
  CdiName name = {};
  std::string model = {};
  std::int64_t memory = 0;
  std::string driver = {};
  std::string cuda = {};
  std::vector<std::string> nodes = {};  // on the machine
  std::int64_t cores = 0;
  std::string uuid = {};
  bool operator==(const FoundDevice&) const = default;
};

// Each device once: no two of a kind share all of their nodes. So without those that stand for
// several others ("all", and those whose nodes are just the nodes of others together), and without
// other names for the same nodes: the shortest stays, a number before all else. By kind; in a kind
// numbers first, in their order.
std::vector<FoundDevice> InventoryOf(const CdiRegistry& registry);

}  // namespace tidemill
