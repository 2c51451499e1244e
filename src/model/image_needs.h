// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/device.h"
#include "model/image.h"

namespace tidemill {

// The least version of what drives a kind of device, see ParseDeviceVersion, that an image asks
// for: of "nvidia.com/gpu" by NVIDIA_REQUIRE_CUDA, of any kind by its label
// "tidemill.requires.KIND". Of several ways in NVIDIA_REQUIRE_CUDA those that name only CUDA count,
// and the lowest of them is enough: the others go by brand and driver, which nobody tells us.
std::map<std::string, std::int32_t> VersionsAskedBy(const ImageConfig& config);

// `asked` with what the image asks for, where the spec itself says nothing.
Devices WithImageNeeds(Devices asked, const ImageConfig& config);

// Some version of `asked` is for the image to say.
bool AsksItsImage(const Devices& asked);

}  // namespace tidemill
