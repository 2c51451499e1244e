// SPDX-License-Identifier: Apache-2.0
#include "wire/size.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace tidemill {

std::optional<std::int64_t> ParseSize(std::string_view text) {
  constexpr double kMost = 1152921504606846976.0;  // 2^60
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{
      {"", 1.0},
      {"B", 1.0},
      {"KiB", 1024.0},
      {"MiB", 1048576.0},
      {"GiB", 1073741824.0},
      {"TiB", 1099511627776.0},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
  }};
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.size() > 1 && text.front() == ' ') text.remove_prefix(1);
  for (const auto& [name, bytes] : kUnits) {
    if (text != name) continue;
    const double size = number * bytes;
    if (!(size <= kMost)) return std::nullopt;
    return std::llround(size);
  }
  return std::nullopt;
}

}  // namespace tidemill
