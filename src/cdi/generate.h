// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/cdi.h"

namespace tidemill {

// Of the specs that we make: the first with annotations, which is all that they need.
inline constexpr const char* kMadeCdiVersion = "0.6.0";
// The kind of devices that somebody names by their nodes alone.
inline constexpr const char* kLocalKind = "tidemill.local/device";

// One device for each node, with the name of its file. kInvalid: no kind, no path of a node, or two
// nodes that would have one name.
Result<CdiSpec> GenerateForPaths(const std::string& kind, const std::vector<std::string>& paths);

}  // namespace tidemill
