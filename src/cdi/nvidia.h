// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cdi.h"

namespace tidemill {

// What was found of NVIDIA's driver and devices; paths are those in the driver's root.

struct FoundGpu {
  std::string node = {};  // "/dev/nvidia0"
  std::string uuid = {};
  std::string model = {};
  std::int64_t memory = 0;  // bytes; 0: not known
  bool operator==(const FoundGpu&) const = default;
};

struct FoundLink {
  std::string target = {};  // "libcuda.so.1"
  std::string path = {};    // "/usr/lib64/libcuda.so"
  bool operator==(const FoundLink&) const = default;
};

struct FoundNvidia {
  std::vector<FoundGpu> gpus = {};  // in the order of their numbers
  std::string driver = {};
  std::string cuda = {};
  std::vector<std::string> control_nodes = {};  // that each container needs: /dev/nvidiactl ...
  std::vector<std::string> libraries = {};
  std::vector<FoundLink> links = {};
  std::vector<std::string> tools = {};
  bool operator==(const FoundNvidia&) const = default;
};

// A spec of nvidia.com/gpu: a device for each GPU by its number, the same by its UUID, and one for
// all. With them come the driver's libraries and tools, each at its own path, and hooks of
// `runtime`, the path of a tidemill-runtime on the machine, which makes the libraries' links and
// the loader's cache. So an image needs nothing of the driver.
// Nothing is said in variables: two devices in one container would contradict each other. A GPU
// that is split into parts (MIG) is not told apart; NVIDIA's own tool makes specs for these.
// None if there is no GPU.
std::optional<CdiSpec> MakeNvidiaSpec(const FoundNvidia& found, const std::string& root,
                                      const std::string& runtime);

}  // namespace tidemill
