// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemill {

// Removes a folder and all in it, however deep: folders are moved up before they are removed, so
// that there is no recursion, no descriptor a level, and no path that is too long. Follows no link.
// The tree was a stranger's, but nobody may change it any more. False: something is left.
bool RemoveTree(const std::string& path);

}  // namespace tidemill
