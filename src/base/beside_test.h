// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tidemill {

// The path of a file that is named relative to the folder of the running test's program. The path
// of a checkout in the sources would keep the compiler cache from serving another checkout.
inline std::string BesideTest(std::string_view name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

}  // namespace tidemill
