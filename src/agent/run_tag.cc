// SPDX-License-Identifier: Apache-2.0
#include "agent/run_tag.h"

#include <charconv>

#include "base/id.h"
#include "base/limits.h"

namespace tidemill {

std::string FormatRunTag(const ItemKey& key) {
  return ToString(key.lease) + " " + std::to_string(key.offset);
}

std::optional<ItemKey> ParseRunTag(std::string_view tag) {
  const std::size_t space = tag.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::optional<LeaseId> lease = ParseId<LeaseId>(tag.substr(0, space));
  const std::string_view digits = tag.substr(space + 1);
  ItemKey key;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), key.offset);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
  if (!lease || !is_number || key.offset < 0 || key.offset >= limits::kItemsPerChunk) {
    return std::nullopt;
  }
  key.lease = *lease;
  return key;
}

}  // namespace tidemill
