// SPDX-License-Identifier: Apache-2.0
#include "submit/path_map.h"

#include <algorithm>

namespace tidemill {

PathMap::PathMap(const std::map<std::string, std::string>& paths) {
  const auto without_end = [](std::string text) {
    while (text.ends_with('/')) text.pop_back();
    return text;
  };
  for (const auto& [from, to] : paths) paths_.emplace_back(without_end(from), without_end(to));
  std::stable_sort(paths_.begin(), paths_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

bool PathMap::Rewrite(std::string& text) const {
  for (const auto& [from, to] : paths_) {
    if (!text.starts_with(from)) continue;
    const std::string_view rest = std::string_view(text).substr(from.size());
    if (!rest.empty() && rest.front() != '/') continue;
    text = to + std::string(rest);
    return true;
  }
  return false;
}

}  // namespace tidemill
