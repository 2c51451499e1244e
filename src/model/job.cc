// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/ascii.h"
#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::array<std::string_view, 6> kStateNames = {"draft",    "active",     "paused",
                                                         "finished", "cancelling", "cancelled"};

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
  for (const auto& [kind, asked] : each.devices) {
    if (asked.count <= 0) continue;
    const auto found = free.devices.find(kind);
    if (found == free.devices.end() || !IsSuch(found->second, asked)) return 0;
    slots = std::min<std::int64_t>(slots, found->second.count / asked.count);
    if (!asked.ids.empty()) slots = std::min<std::int64_t>(slots, 1);
  }
  return std::max<std::int64_t>(slots, 0);
}

bool WantsWholeMachine(const Resources& each) { return each.devices.contains(kWholeMachine); }

void Take(Resources& free, const Resources& each, std::int64_t count) {
  free.millicpus -= count * each.millicpus;
  free.memory_bytes -= count * each.memory_bytes;
  for (const auto& [kind, one] : each.devices) {
    free.devices[kind].count -= static_cast<std::int32_t>(count * one.count);
  }
}

std::map<JobId, std::int64_t> SideBySide(Resources has, const std::map<JobId, std::int64_t>& owed,
                                         const std::map<JobId, Resources>& needs) {
  has.devices[kWholeMachine].count = 1;
  std::map<JobId, std::int64_t> slots;
  for (const auto& [job, items] : owed) {
    const auto need = needs.find(job);
    slots[job] = need == needs.end() ? items : std::min<std::int64_t>(items, 1);
    if (need != needs.end()) Take(has, need->second, slots[job]);
  }
  for (bool gave = true; std::exchange(gave, false);) {
    for (const auto& [job, items] : owed) {
      const auto need = needs.find(job);
      const std::int64_t fit = need == needs.end() ? 0 : SlotsIn(has, need->second);
      // One that is alone takes all at once.
      const std::int64_t given =
          std::min({items - slots[job], fit, owed.size() == 1 ? fit : std::int64_t{1}});
      if (given <= 0) continue;
      slots[job] += given;
      Take(has, need->second, given);
      gave = true;
    }
  }
  return slots;
}

std::string UniqueId(const Job& job) {
  return job.uid.empty() ? PublicId(job) : PublicId(job) + "." + job.uid;
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
