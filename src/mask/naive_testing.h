// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: what a masker means, in the fewest words.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

inline std::string MaskNaively(std::string_view text, const std::set<std::string>& patterns) {
  std::vector<bool> hidden(text.size());
  for (const std::string& pattern : patterns) {
    for (std::size_t at = text.find(pattern); at != std::string_view::npos;
         at = text.find(pattern, at + 1)) {
      for (std::size_t i = 0; i < pattern.size(); ++i) hidden[at + i] = true;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!hidden[i]) {
      out += text[i];
    } else if (i == 0 || !hidden[i - 1]) {
      out += "***";
    }
  }
  return out;
}

// The most bytes at the end of the text that a pattern which goes on may cover.
inline std::size_t OpenNaively(std::string_view text, const std::set<std::string>& patterns) {
  std::size_t open = 0;
  for (const std::string& pattern : patterns) {
    for (std::size_t size = 1; size < pattern.size(); ++size) {
      if (size > open && text.ends_with(std::string_view(pattern).substr(0, size))) open = size;
    }
  }
  return open;
}

}  // namespace tidemill
