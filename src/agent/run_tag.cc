// SPDX-License-Identifier: Apache-2.0
#include "agent/run_tag.h"

#include <charconv>

#include "base/id.h"
#include "base/limits.h"

namespace tidemill {
namespace {

// Up to the next space, which is taken too.
std::string_view TakeWord(std::string_view& text) {
  const std::size_t space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(space == text.npos ? text.size() : space + 1);
  return word;
}

template <typename Number>
bool ReadNumber(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size();
}

}  // namespace

std::string FormatRunTag(const RunTag& tag) {
  return ToString(tag.key.lease) + " " + std::to_string(tag.key.offset) + " " +
         std::to_string(tag.data);
}

std::optional<RunTag> ParseRunTag(std::string_view text) {
  const std::optional<LeaseId> lease = ParseId<LeaseId>(TakeWord(text));
  RunTag tag;
  if (!lease || !ReadNumber(TakeWord(text), tag.key.offset)) return std::nullopt;
  if (tag.key.offset < 0 || tag.key.offset >= limits::kItemsPerChunk) return std::nullopt;
  if (!ReadNumber(text, tag.data)) return std::nullopt;
  tag.key.lease = *lease;
  return tag;
}

}  // namespace tidemill
