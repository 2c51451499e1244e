// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Numbers as people read them. Pure: the time is an argument.
namespace tidemill::cli {

// 1234567 -> "1,234,567"
std::string Thousands(std::int64_t number);
// "1 item", "12 items", "1,000 items"; nothing but an 's' is added.
std::string CountOf(std::int64_t number, std::string_view noun);
// "12 ms", "4.2 s", "71 s", "12 min", "2 h 10 min", "3 d 4 h": the two units that matter.
std::string DurationText(std::int64_t ms);
// "812 B", "1.9 GiB", "16 GiB"
std::string BytesText(std::int64_t bytes);
// As disks and lists are counted: "812 B", "16 MB"
std::string DecimalBytesText(std::int64_t bytes);
// 1700 -> "1.7", 2000 -> "2"
std::string CpusText(std::int64_t millicpus);
// "45.1/s", "0.12/s", "1,200/s"
std::string RateText(double per_second);
// "59 %"; 100 only if it is all, 0 only if it is nothing.
std::string PercentText(std::int64_t part, std::int64_t whole);
// "just now", "4 min ago", "2 h 10 min ago"
std::string AgoText(std::int64_t then_ms, std::int64_t now_ms);
// The larger unit alone: "12 s", "4 min", "3 h", "87 d".
std::string RoughText(std::int64_t ms);
// "in 87 d", "4 min ago", "now": for columns.
std::string WhenText(std::int64_t at_ms, std::int64_t now_ms);
// "12:03" for a time of the day of `now_ms`, else "2026-05-01 12:03". In the zone that is `zone_s`
// seconds east of UTC.
std::string ClockText(std::int64_t at_ms, std::int64_t now_ms, std::int64_t zone_s);

// Millionths of a dollar, to the cent, or to what shows that it is not 0: "$12.50", "$0.0017".
std::string MoneyText(std::int64_t micros);

// How many columns the text takes on a terminal: one for each character of UTF-8.
std::size_t WidthOf(std::string_view text);
// At most `columns` wide; what is cut off is shown as "…".
std::string Clip(std::string_view text, std::size_t columns);
// With line breaks in place of spaces, so that no line is wider; a longer word stays whole.
std::string Wrap(std::string_view text, std::size_t columns);
// Without control characters, which could move the cursor or colour the terminal.
std::string Printable(std::string_view text);

}  // namespace tidemill::cli
