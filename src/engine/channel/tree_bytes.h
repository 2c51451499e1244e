// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tidemill {

// What the files below a folder take on their disk. Whoever writes there may be hostile: no link is
// followed, and what is behind the first million entries or deeper than 64 folders is not counted.
// Takes long: not for the loop thread.
std::int64_t TreeBytes(const std::string& path);

}  // namespace tidemill
