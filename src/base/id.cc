// SPDX-License-Identifier: Apache-2.0
#include "base/id.h"

#include <cstdio>

namespace tidemill {

std::string FormatUuid(std::uint64_t high, std::uint64_t low) {
  std::array<char, 37> text{};
  std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xffff), static_cast<unsigned>(low >> 48),
                static_cast<unsigned long long>(low & 0xffff'ffff'ffff));
  return std::string(text.data(), 36);
}

std::optional<std::array<std::uint64_t, 2>> ParseUuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::array<std::uint64_t, 2> parts{};
  int digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return std::nullopt;
      continue;
    }
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      return std::nullopt;
    }
    std::uint64_t& part = parts[digits++ / 16];
    part = part << 4 | digit;
  }
  return parts;
}

}  // namespace tidemill
