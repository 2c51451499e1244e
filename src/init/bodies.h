// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The bodies that a program sends.
namespace tidemill::init {

// What became of an item, as its program says.
struct ItemResult {
  std::uint64_t item = 0;  // as the program was given it
  std::int32_t exit = 0;
  std::string error = {};
  std::string result = {};  // any JSON
  bool operator==(const ItemResult&) const = default;
};
// Of {"results":[{"item":17,"result":{"score":0.5}},{"item":18,"exit":3,"error":"text"}]}, or of
// nothing at all. Nothing: it is no such body; a member that nobody knows is a mistake, too, and so
// is a result of more than frame::kResultBytes.
std::optional<std::vector<ItemResult>> ReadResults(std::string_view body);

struct ItemProgress {
  std::optional<std::uint64_t> item;  // none: the only one
  std::int32_t permille = 0;
  std::string note = {};  // a line
};
// Of {"item":17,"fraction":0.4,"note":"epoch 3"}; the fraction is from 0 to 1.
std::optional<ItemProgress> ReadProgress(std::string_view body);

}  // namespace tidemill::init
