// SPDX-License-Identifier: Apache-2.0
#include "wire/duration.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace tidemill {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits = {{
    {"d", 86'400'000},
    {"h", 3'600'000},
    {"m", 60'000},
    {"s", 1000},
    {"ms", 1},
}};

// The letters at the front.
std::string_view TakeUnit(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && text[end] >= 'a' && text[end] <= 'z') ++end;
  const std::string_view unit = text.substr(0, end);
  text.remove_prefix(end);
  return unit;
}

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  constexpr std::int64_t kMost = std::chrono::milliseconds(kMostDuration).count();
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  auto unit = kUnits.begin();  // those before it have been used, or passed over
  while (!text.empty()) {
    if (text.front() < '0' || text.front() > '9') return std::nullopt;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::string_view name = TakeUnit(text);
    while (unit != kUnits.end() && unit->first != name) ++unit;
    if (unit == kUnits.end() || number > kMost / unit->second) return std::nullopt;
    total += number * unit->second;
    ++unit;
  }
  if (total > kMost) return std::nullopt;
  return std::chrono::milliseconds(total);
}

}  // namespace tidemill
