// SPDX-License-Identifier: Apache-2.0
#include "data/mover/cache_room.h"

#include <algorithm>

namespace tidemill {

std::optional<std::vector<std::string>> MakeCacheRoom(std::vector<CacheItem> items,
                                                      std::int64_t bytes, std::int64_t budget) {
  std::sort(items.begin(), items.end(),
            [](const CacheItem& a, const CacheItem& b) { return a.used < b.used; });
  std::int64_t held = bytes;
  for (const CacheItem& item : items) held += item.bytes;
  std::vector<std::string> gone;
  for (const CacheItem& item : items) {
    if (held <= budget) break;
    if (item.in_use) continue;
    held -= item.bytes;
    gone.push_back(item.key);
  }
  if (held > budget) return std::nullopt;
  return gone;
}

}  // namespace tidemill
