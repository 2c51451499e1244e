// SPDX-License-Identifier: Apache-2.0
#include "wire/times.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "wire/duration.h"

namespace tidemill {
namespace {

struct TimeEntry {
  std::string_view program;
  std::string_view name;
  Duration value{};
};

tl::unexpected<Error> BadEntry(std::string_view entry, const std::string& why) {
  return Fail(Code::kInvalid,
              std::string(kTimesVariable) + ": '" + std::string(entry) + "': " + why);
}

Result<TimeEntry> ParseTimeEntry(std::string_view entry) {
  const std::size_t dot = entry.find('.');
  const std::size_t sign = entry.find('=');
  if (dot == entry.npos || sign == entry.npos || sign < dot) {
    return BadEntry(entry, "write it as agent.device_rest=500ms");
  }
  TimeEntry parsed{entry.substr(0, dot), entry.substr(dot + 1, sign - dot - 1), {}};
  if (parsed.program != "agent" && parsed.program != "server") {
    return BadEntry(entry, "the program must be agent or server");
  }
  const auto value = ParseDuration(entry.substr(sign + 1));
  if (!value || value->count() <= 0) {
    return BadEntry(entry, "the value must be a positive duration such as 500ms");
  }
  parsed.value = Duration(*value);
  return parsed;
}

}  // namespace

Result<void> SetTimes(std::string_view text, std::string_view program, const SettableTimes& times) {
  std::vector<std::pair<Duration*, Duration>> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view text_of_entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    TIDEMILL_TRY(const TimeEntry entry, ParseTimeEntry(text_of_entry));
    if (entry.program != program) continue;
    const auto place = times.find(entry.name);
    if (place == times.end()) return BadEntry(text_of_entry, "there is no such time");
    found.emplace_back(place->second, entry.value);
  }
  for (const auto& [time, value] : found) *time = value;
  return {};
}

}  // namespace tidemill
