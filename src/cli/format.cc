// SPDX-License-Identifier: Apache-2.0
#include "cli/format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace tidemill::cli {
namespace {

std::string Decimal(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

// One digit behind the point below ten, unless it is a zero: 1.9, 2, 16.
std::string Short(double value) {
  if (value >= 9.95) return Decimal(value, 0);
  std::string text = Decimal(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

template <std::size_t N>
std::string Scaled(std::int64_t value, double base, const std::array<std::string_view, N>& units) {
  double scaled = static_cast<double>(value);
  std::size_t unit = 0;
  // 1,023.7 MiB would be printed as 1024 MiB.
  while (unit + 1 < N && scaled >= base - 0.5) {
    scaled /= base;
    ++unit;
  }
  return (unit == 0 ? std::to_string(value) : Short(scaled)) + " " + std::string(units[unit]);
}

// "2 h 10 min" of a number of the smaller unit; the smaller is left out if it is 0.
std::string Pair(std::int64_t smaller, std::int64_t per_larger, std::string_view larger_unit,
                 std::string_view smaller_unit) {
  std::string text = std::to_string(smaller / per_larger) + " " + std::string(larger_unit);
  if (smaller % per_larger == 0) return text;
  return text + " " + std::to_string(smaller % per_larger) + " " + std::string(smaller_unit);
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string Thousands(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string CountOf(std::int64_t number, std::string_view noun) {
  return Thousands(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string DurationText(std::int64_t ms) {
  if (ms < 0) ms = 0;
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 9950) return Short(static_cast<double>(ms) / 1000) + " s";
  const std::int64_t seconds = (ms + 500) / 1000;
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 600) return Pair(seconds, 60, "min", "s");
  const std::int64_t minutes = (seconds + 30) / 60;
  if (minutes < 60) return std::to_string(minutes) + " min";
  if (minutes < 24 * 60) return Pair(minutes, 60, "h", "min");
  return Pair((minutes + 30) / 60, 24, "d", "h");
}

std::string BytesText(std::int64_t bytes) {
  return Scaled<6>(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string DecimalBytesText(std::int64_t bytes) {
  return Scaled<6>(bytes, 1000, {"B", "kB", "MB", "GB", "TB", "PB"});
}

std::string CpusText(std::int64_t millicpus) {
  if (millicpus % 1000 == 0) return Thousands(millicpus / 1000);
  if (millicpus % 100 == 0) return Decimal(static_cast<double>(millicpus) / 1000, 1);
  return Decimal(static_cast<double>(millicpus) / 1000, millicpus < 10 ? 3 : 2);
}

std::string RateText(double per_second) {
  if (per_second >= 100) return Thousands(std::llround(per_second)) + "/s";
  return Decimal(per_second, per_second >= 1 ? 1 : 2) + "/s";
}

std::string PercentText(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "0 %";
  std::int64_t percent =
      std::llround(100.0 * static_cast<double>(part) / static_cast<double>(whole));
  if (percent >= 100 && part < whole) percent = 99;
  if (percent == 0 && part > 0) return "<1 %";
  return std::to_string(percent) + " %";
}

std::string AgoText(std::int64_t then_ms, std::int64_t now_ms) {
  const std::int64_t ago = now_ms - then_ms;
  // Clocks of two machines differ: a little in the future is now.
  if (ago < 1000) return "just now";
  return DurationText(ago / 1000 * 1000) + " ago";
}

std::string RoughText(std::int64_t ms) {
  const std::int64_t seconds = (ms + 500) / 1000;
  if (seconds < 120) return std::to_string(seconds) + " s";
  const std::int64_t minutes = (seconds + 30) / 60;
  if (minutes < 120) return std::to_string(minutes) + " min";
  const std::int64_t hours = (minutes + 30) / 60;
  if (hours < 48) return std::to_string(hours) + " h";
  return std::to_string((hours + 12) / 24) + " d";
}

std::string WhenText(std::int64_t at_ms, std::int64_t now_ms) {
  const std::int64_t away = at_ms - now_ms;
  if (away >= 1000) return "in " + RoughText(away);
  if (away <= -1000) return RoughText(-away) + " ago";
  return "now";
}

std::string ClockText(std::int64_t at_ms, std::int64_t now_ms, std::int64_t zone_s) {
  using std::chrono::days;
  using std::chrono::milliseconds;
  const auto local = [&](std::int64_t ms) {
    return std::chrono::sys_time<milliseconds>{milliseconds(ms + zone_s * 1000)};
  };
  const auto day = std::chrono::floor<days>(local(at_ms));
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<milliseconds> clock{local(at_ms) - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()));
  const std::string_view whole = text.data();
  const bool today = day == std::chrono::floor<days>(local(now_ms));
  return std::string(today ? whole.substr(whole.size() - 5) : whole);
}

std::string MoneyText(std::int64_t micros) {
  const double dollars = static_cast<double>(micros) / 1e6;
  constexpr std::int64_t kCent = 10'000;
  if (micros != 0 && micros < kCent && micros > -kCent) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.2g", dollars);
    return std::string("$") + text.data();
  }
  const std::int64_t cents = (micros + kCent / 2) / kCent;
  std::string rest = std::to_string(100 + cents % 100).substr(1);
  return "$" + Thousands(cents / 100) + "." + rest;
}

std::size_t WidthOf(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += IsContinuation(c) ? 0 : 1;
  return width;
}

std::string Clip(std::string_view text, std::size_t columns) {
  if (WidthOf(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t width = 0;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (IsContinuation(text[at])) continue;
    if (width == columns - 1) break;
    ++width;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string Wrap(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' ', 1), text.size());
    const std::string_view word = text.substr(0, end);  // with the space before it
    const std::size_t wide = WidthOf(word);
    if (width > 0 && width + wide > columns) {
      out.append("\n").append(word.substr(1));
      width = wide - 1;
    } else {
      out.append(word);
      width += wide;
    }
    text.remove_prefix(end);
  }
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, as c2 80 to c2 9f, are control characters too.
    const bool c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) ++i;
    out.push_back(c1 || byte < 0x20 || byte == 0x7f ? '?' : text[i]);
  }
  return out;
}

}  // namespace tidemill::cli
