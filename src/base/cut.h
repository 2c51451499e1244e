// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tidemill {

// Removes the text up to the first `separator`, and the separator, from the front of `text` and
// returns what was before it; all of `text` if there is no separator.
inline std::string_view CutAt(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return first;
}

}  // namespace tidemill
