// SPDX-License-Identifier: Apache-2.0
#include "wire/time.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace tidemill {

using std::chrono::days;
using std::chrono::milliseconds;

std::string FormatTime(std::int64_t ms) {
  const std::chrono::sys_time<milliseconds> time{milliseconds(ms)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<milliseconds> clock{time - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return text.data();
}

std::optional<std::int64_t> ParseTime(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  if (text.size() != kForm.size()) return std::nullopt;
  std::array<int, 7> parts{};
  std::size_t part = 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] != '0') {
      if (text[i] != kForm[i]) return std::nullopt;
      ++part;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    parts[part] = parts[part] * 10 + (text[i] - '0');
  }
  const auto [year, month, day, hours, minutes, seconds, ms] = parts;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hours > 23 || minutes > 59 || seconds > 59) return std::nullopt;
  const milliseconds time = std::chrono::sys_days(date).time_since_epoch() +
                            std::chrono::hours(hours) + std::chrono::minutes(minutes) +
                            std::chrono::seconds(seconds) + milliseconds(ms);
  return time.count();
}

}  // namespace tidemill
