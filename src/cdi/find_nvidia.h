// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cdi/nvidia.h"

namespace tidemill {

// Looks for NVIDIA's devices and driver under `root`. The nodes and what the driver says in /proc
// are enough for a spec; memory, the CUDA version and the numbers that CUDA uses are NVML's to say.
// Its library cannot be loaded into a static program such as ours, so the driver's own nvidia-smi
// is asked, which has it loaded. Where that is not there, or does not answer within 20 s, they stay
// unknown, and GPUs are numbered by their places on the bus, as NVML does.
FoundNvidia FindNvidia(const std::string& root);

}  // namespace tidemill
