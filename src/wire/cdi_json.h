// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/cdi.h"

namespace tidemill {

// A file of 1 MiB, with each of its characters escaped.
inline constexpr std::size_t kCdiJsonBytes = 6 * 1024 * 1024;

// A spec of the Container Device Interface, of versions 0.3.0 to 1.1.0. Strict: what it takes, a
// runtime can apply without another look. kInvalid, with the field's path (see FaultOf), for
// anything that is not known, that the spec's own version does not know yet, that we would not
// apply (intelRdt, netDevices), or that is wrong or hostile:
// - paths that are not absolute, or have ".." or control characters; in the container also its
//   root, /dev itself, and what is in /proc or /sys, where a container is told what it is;
// - variables that are not NAME=value in one line, hooks of no stage, nodes of no type;
// - names twice, two nodes at one path, no devices, a device that would change nothing;
// - more of anything than the limits beside the code that reads it.
Result<CdiSpec> ParseCdiSpec(std::string_view json);

}  // namespace tidemill
