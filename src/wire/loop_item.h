// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tidemill {

// An item as the program of a loop gets it.
struct LoopItem {
  std::int64_t item = 0;  // its number in the job: what the program calls it
  std::string_view text = {};
  std::string_view job = {};
  std::int32_t attempt = 1;
  // The paths of its data by name; the only one has none.
  std::map<std::string, std::string> inputs = {};
  std::map<std::string, std::string> outputs = {};
};

// {"item":17,"text":"...","job":"render-7","attempt":1}, in one line; if the text is a JSON object,
// with that object as "value". A path is "input", or "output"; several are objects
// of that name. Bytes that are not UTF-8 are replaced: JSON cannot hold them.
std::string LoopItemText(const LoopItem& item);

}  // namespace tidemill
