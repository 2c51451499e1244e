// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "model/cdi.h"

namespace tidemill {

// What the vendors' tools write for a machine of 16 GPUs is below 200 kB.
inline constexpr std::size_t kCdiTextBytes = 1024 * 1024;

// A spec as it stands in a file, YAML or JSON; see ParseCdiSpec. kInvalid as
// "line 7: devices[0].name: ...". `is_json` makes it faster, and changes nothing else.
Result<CdiSpec> ParseCdiText(std::string_view text, bool is_json);

}  // namespace tidemill
