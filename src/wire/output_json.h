// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/data.h"

namespace tidemill {

struct PointedFile {
  std::string name;
  std::int64_t size_bytes = 0;
};

// What says which attempt of an output folder counts:
//   {"job":"films/render-7","item":17,"round":0,"attempt":"0.1.12ab",
//    "files":[{"name":"x.png","bytes":12}]}
std::string FormatPointer(const OutputOwner& owner, const std::vector<PointedFile>& files);

}  // namespace tidemill
