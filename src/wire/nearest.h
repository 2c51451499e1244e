// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// For a name that is not known: "did you mean 'memory'?", or else which ones there are.
std::string HintFor(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace tidemill
