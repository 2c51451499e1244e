// SPDX-License-Identifier: Apache-2.0
#include "model/pool.h"

#include <charconv>

namespace tidemill {
namespace {

// What stands before the next `end`, which is taken too.
std::string_view TakeUntil(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

std::optional<std::int64_t> NumberOf(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view SizeUnitName(SizeUnit unit) {
  return unit == SizeUnit::kVcpus ? "vcpus" : "machines";
}

std::optional<SizeUnit> ParseSizeUnit(std::string_view name) {
  for (const SizeUnit unit : {SizeUnit::kMachines, SizeUnit::kVcpus}) {
    if (SizeUnitName(unit) == name) return unit;
  }
  return std::nullopt;
}

std::string FormatSteps(const Steps& steps) {
  std::string out;
  for (const auto& [items, machines] : steps) {
    out.append(out.empty() ? "" : " ").append(std::to_string(items));
    out.append(":").append(std::to_string(machines));
  }
  return out;
}

Steps ParseSteps(std::string_view text) {
  Steps steps;
  while (!text.empty()) {
    std::string_view step = TakeUntil(text, ' ');
    const auto items = NumberOf(TakeUntil(step, ':'));
    const auto machines = NumberOf(step);
    if (items && machines) steps[*items] = *machines;
  }
  return steps;
}

}  // namespace tidemill
