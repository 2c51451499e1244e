// SPDX-License-Identifier: Apache-2.0
#include "model/labels.h"

#include <algorithm>

namespace tidemill {

std::string FormatLabels(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) out.append(name).append("=").append(value).append("\n");
  return out;
}

Labels ParseLabels(std::string_view text) {
  Labels labels;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view name = line.substr(0, line.find('='));
    labels[std::string(name)] = line.substr(std::min(line.size(), name.size() + 1));
  }
  return labels;
}

}  // namespace tidemill
