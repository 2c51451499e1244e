// SPDX-License-Identifier: Apache-2.0
#include "frame/text.h"

#include <cstdint>
#include <optional>

namespace tidemill::frame {
namespace {

constexpr char32_t kMost = 0x10ffff;

bool IsHalfOfAPair(char32_t point) { return point >= 0xd800 && point <= 0xdfff; }

bool IsControl(char32_t point) { return point < 0x20 || (point >= 0x7f && point < 0xa0); }

// Takes the first code point; the text is not empty. Nothing: it is no UTF-8.
std::optional<char32_t> TakePoint(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  std::size_t more = 0;
  char32_t least = 0;
  char32_t point = first;
  if (first >= 0xf8 || (first >= 0x80 && first < 0xc0)) return std::nullopt;
  if (first >= 0xf0) {
    more = 3, least = 0x10000, point = first & 0x07;
  } else if (first >= 0xe0) {
    more = 2, least = 0x800, point = first & 0x0f;
  } else if (first >= 0xc0) {
    more = 1, least = 0x80, point = first & 0x1f;
  }
  if (text.size() < 1 + more) return std::nullopt;
  for (std::size_t i = 1; i <= more; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    point = (point << 6) | (next & 0x3f);
  }
  if (point < least || point > kMost || IsHalfOfAPair(point)) return std::nullopt;
  text.remove_prefix(1 + more);
  return point;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!TakePoint(text)) return false;
  }
  return true;
}

bool IsLine(std::string_view text) {
  while (!text.empty()) {
    const auto point = TakePoint(text);
    if (!point || IsControl(*point)) return false;
  }
  return true;
}

std::string LineOf(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::string_view before = text;
    const auto point = TakePoint(text);
    if (!point) return line;
    if (IsControl(*point)) {
      line.push_back(' ');
    } else {
      line.append(before.substr(0, before.size() - text.size()));
    }
  }
  return line;
}

std::string_view CutText(std::string_view text, std::size_t bytes_most) {
  if (text.size() <= bytes_most) return text;
  while (bytes_most > 0 && (static_cast<unsigned char>(text[bytes_most]) & 0xc0) == 0x80) {
    --bytes_most;
  }
  return text.substr(0, bytes_most);
}

void AppendCodePoint(std::string& out, char32_t point) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6)), put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12)), put(0x80 | ((point >> 6) & 0x3f)), put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18)), put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f)), put(0x80 | (point & 0x3f));
  }
}

}  // namespace tidemill::frame
