// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::array<std::string_view, 6> kStateNames = {"draft",    "active",     "paused",
                                                         "finished", "cancelling", "cancelled"};

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string_view JobStateName(JobState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::optional<JobState> ParseJobState(std::string_view name) {
  const auto* found = std::find(kStateNames.begin(), kStateNames.end(), name);
  if (found == kStateNames.end()) return std::nullopt;
  return static_cast<JobState>(found - kStateNames.begin());
}

std::int64_t SlotsIn(const Resources& free, const Resources& each) {
  std::int64_t slots = std::numeric_limits<std::int32_t>::max();
  if (each.millicpus > 0) slots = std::min(slots, free.millicpus / each.millicpus);
  if (each.memory_bytes > 0) slots = std::min(slots, free.memory_bytes / each.memory_bytes);
  for (const auto& [kind, count] : each.devices) {
    const auto found = free.devices.find(kind);
    if (count > 0) {
      slots =
          std::min<std::int64_t>(slots, found == free.devices.end() ? 0 : found->second / count);
    }
  }
  return std::max<std::int64_t>(slots, 0);
}

bool WantsWholeMachine(const Resources& each) { return each.devices.contains(kWholeMachine); }

void Take(Resources& free, const Resources& each, std::int64_t count) {
  free.millicpus -= count * each.millicpus;
  free.memory_bytes -= count * each.memory_bytes;
  for (const auto& [kind, one] : each.devices) {
    free.devices[kind] -= static_cast<std::int32_t>(count * one);
  }
}

bool IsDeviceKind(std::string_view text) {
  if (text.empty() || text.size() > limits::kNameBytes || !IsLetterOrDigit(text.front())) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '-' || c == '/';
  });
}

std::string FormatDevices(const Devices& devices) {
  std::string text;
  for (const auto& [kind, count] : devices) {
    if (!text.empty()) text += ' ';
    text += kind + "=" + std::to_string(count);
  }
  return text;
}

std::optional<Devices> ParseDevices(std::string_view text) {
  Devices devices;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view one = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    const std::size_t sign = one.find('=');
    if (sign == std::string_view::npos || !IsDeviceKind(one.substr(0, sign))) return std::nullopt;
    const std::string_view digits = one.substr(sign + 1);
    std::int32_t count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc{} || end != digits.data() + digits.size() || count < 0) {
      return std::nullopt;
    }
    devices[std::string(one.substr(0, sign))] = count;
  }
  return devices;
}

std::string PublicId(const Job& job) { return job.spec.name + "-" + std::to_string(job.id.number); }

std::optional<ParsedJobId> ParsePublicId(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  const bool bare = dash == std::string_view::npos;
  const std::string_view digits = bare ? text : text.substr(dash + 1);
  if (digits.empty() || digits.front() < '1' || digits.front() > '9') return std::nullopt;
  ParsedJobId parsed{std::string(bare ? "" : text.substr(0, dash)), {}};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.id.number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (!bare && !IsName(parsed.name)) return std::nullopt;
  return parsed;
}

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > limits::kNameBytes) return false;
  if (!IsLetterOrDigit(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace tidemill
