// SPDX-License-Identifier: Apache-2.0
#include "data/mover/save_name.h"

#include <charconv>
#include <tuple>

namespace tidemill {
namespace {

constexpr std::size_t kShort = 8;
constexpr std::size_t kLong = 10;
constexpr std::string_view kEnd = ".json";

std::string Filled(std::int64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

// Takes as many digits and a hyphen off the front.
template <typename T>
bool TakeNumber(std::string_view& text, std::size_t digits, T& number) {
  if (text.size() <= digits || text[digits] != '-') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc() || end != text.data() + digits || number < 0) return false;
  text.remove_prefix(digits + 1);
  return true;
}

}  // namespace

std::string FormatSaveName(const SaveName& name) {
  return Filled(name.round, kShort) + "-" + Filled(name.attempt, kShort) + "-" +
         Filled(name.seq, kLong) + "-" + name.writer + std::string(kEnd);
}

std::optional<SaveName> ParseSaveName(std::string_view text) {
  SaveName name;
  if (!TakeNumber(text, kShort, name.round) || !TakeNumber(text, kShort, name.attempt) ||
      !TakeNumber(text, kLong, name.seq) || !text.ends_with(kEnd)) {
    return std::nullopt;
  }
  text.remove_suffix(kEnd.size());
  if (text.empty() || text.find('/') != text.npos) return std::nullopt;
  name.writer = text;
  return name;
}

const SaveName* NewestFor(const std::vector<SaveName>& names, std::int32_t round,
                          std::int32_t attempt) {
  const SaveName* newest = nullptr;
  for (const SaveName& name : names) {
    if (std::tie(name.round, name.attempt) > std::tie(round, attempt)) continue;
    if (newest == nullptr || *newest < name) newest = &name;
  }
  return newest;
}

}  // namespace tidemill
