// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tidemill {

// What others wrote (a provider, a registry), so that an answer may carry it: without control
// characters, and not without end.
inline std::string OneLine(std::string_view text) {
  constexpr std::size_t kMost = 2000;
  std::string line(text.substr(0, kMost));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }, ' ');
  return line;
}

}  // namespace tidemill
