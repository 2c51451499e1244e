// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// Which save of an item's checkpoint it is. The later stands behind the earlier, by values and, as
// the numbers are filled up with zeros, by text: "00000000-00000001-0000000012-WRITER.json".
struct SaveName {
  std::int32_t round = 0;
  std::int32_t attempt = 1;
  // Higher than that of the save from which the attempt began: so that of two machines which have
  // the same attempt, because one was given up, the one that has come further counts.
  std::int64_t seq = 0;
  std::string writer = {};  // writes under no other's name
  auto operator<=>(const SaveName&) const = default;
};
std::string FormatSaveName(const SaveName& name);
std::optional<SaveName> ParseSaveName(std::string_view text);

// The one from which an attempt begins: the latest of its own and earlier ones. Null: there is
// none.
const SaveName* NewestFor(const std::vector<SaveName>& names, std::int32_t round,
                          std::int32_t attempt);

}  // namespace tidemill
