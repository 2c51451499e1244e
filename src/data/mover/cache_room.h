// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemill {

// One thing in a cache.
struct CacheItem {
  std::string key;
  std::int64_t bytes = 0;
  std::uint64_t used = 0;  // the larger, the later
  bool in_use = false;     // it must stay
};

// What must go so that `bytes` more have room: of what nobody uses, what was used the longest ago,
// and no more than needed. Nothing: there is no room, whatever goes.
std::optional<std::vector<std::string>> MakeCacheRoom(std::vector<CacheItem> items,
                                                      std::int64_t bytes, std::int64_t budget);

}  // namespace tidemill
