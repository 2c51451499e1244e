// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemill {

// Removes a folder and all in it, however deep: folders are moved up before they are removed, so
// that there is no recursion, no descriptor a level, and no path that is too long. Follows no link
// and enters nothing that is mounted there. The tree was a stranger's: nobody should change it any
// more, and if somebody does, nothing outside is touched. False: something is left.
bool RemoveTree(const std::string& path);

}  // namespace tidemill
