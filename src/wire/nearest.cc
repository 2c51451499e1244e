// SPDX-License-Identifier: Apache-2.0
#include "wire/nearest.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tidemill {
namespace {

// How many letters to add, drop or change.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> Nearest(std::string_view name,
                                        const std::vector<std::string_view>& known) {
  std::optional<std::string_view> best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view one : known) {
    const std::size_t distance = Distance(name, one);
    if (distance < least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

}  // namespace

std::string HintFor(std::string_view name, const std::vector<std::string_view>& known) {
  if (known.empty()) return "there is none here";
  if (const auto near = Nearest(name, known)) return "did you mean '" + std::string(*near) + "'?";
  std::string hint = "known are";
  for (const std::string_view one : known) hint.append(" '").append(one).append("'");
  return hint;
}

}  // namespace tidemill
