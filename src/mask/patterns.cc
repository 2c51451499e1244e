// SPDX-License-Identifier: Apache-2.0
#include "mask/patterns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/bytes.h"

namespace tidemill {
namespace {

bool IsLetterOrDigit(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string UrlSafe(std::string text) {
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

// As programs break base64 into lines: of 76 characters, of 64, or not at all.
void AddWrapped(const std::string& text, std::set<std::string>& patterns) {
  constexpr std::size_t kLeast = (8 * kLeastHiddenBytes + 5) / 6;
  for (const std::size_t width : {std::size_t{76}, std::size_t{64}}) {
    for (std::size_t at = 0; at < text.size(); at += width) {
      const std::string line = text.substr(at, width);
      if (line.size() >= kLeast) patterns.insert(line);
    }
  }
}

// With `before` bytes in front of it, of which we know nothing. What is before or behind the secret
// has a part in the first and the last character of its own; but if nothing is behind it, the last
// one is known too.
void AddBase64(std::string_view secret, std::size_t before, std::set<std::string>& patterns) {
  const std::string padded = EncodeBase64(std::string(before, '\0').append(secret));
  const std::size_t bits = 8 * (before + secret.size());
  const std::size_t begin = (8 * before + 5) / 6;
  const std::size_t whole = bits / 6;
  const std::size_t started = (bits + 5) / 6;
  for (const std::size_t end : {whole, started, padded.size()}) {
    std::string text = padded.substr(begin, end - begin);
    // What is before it is not known, and so not where lines end.
    if (before == 0) AddWrapped(text, patterns);
    patterns.insert(UrlSafe(text));
    patterns.insert(std::move(text));
  }
}

constexpr char kUpper[] = "0123456789ABCDEF";
constexpr char kLower[] = "0123456789abcdef";

// What an encoder leaves as it is besides letters and digits.
struct PercentStyle {
  std::string_view plain;
  bool plus = false;  // for a space
};
constexpr PercentStyle kPercentStyles[] = {
    {"-._~"},        // RFC 3986
    {"-._~/"},       // a path
    {"-_.!~*'()"},   // encodeURIComponent
    {"-._~", true},  // a query
    {"*-._", true},  // a form
};

std::string PercentEncoded(std::string_view secret, const PercentStyle& style, const char* digits) {
  std::string out;
  for (const char c : secret) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsLetterOrDigit(byte) || style.plain.find(c) != std::string_view::npos) {
      out += c;
    } else if (c == ' ' && style.plus) {
      out += '+';
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

// What an encoder escapes besides what it must.
struct JsonStyle {
  std::string_view by_number;  // as \u00XX
  bool ascii_only = false;
  bool slash = false;  // as \/
};
constexpr JsonStyle kJsonStyles[] = {{""}, {"", true}, {"<>&"}};
// Each with digits of both cases, as these are.
constexpr JsonStyle kRareJsonStyles[] = {
    {"", false, true}, {"", true, true},     {"<>&", true},    {"<>&'="},          {"<>&'=", true},
    {"<>&'+", true},   {"<>&'", true, true}, {"<>&'=+", true}, {"<>&'+\"`", true},
};

void AppendUnit(std::uint32_t unit, const char* digits, std::string& out) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[(unit >> shift) & 15];
}

// The character of more than one byte that stands at the front, and its length; {0, 1} for what is
// no UTF-8.
std::pair<std::uint32_t, std::size_t> WideAt(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {0, 1};
  std::uint32_t point = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {0, 1};
    point = point << 6 | (byte & 0x3fU);
  }
  return {point, size};
}

std::string JsonEscaped(std::string_view secret, const JsonStyle& style, const char* digits) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kShortNames = "\"\\bfnrt";
  std::string out;
  for (std::size_t i = 0; i < secret.size();) {
    const char c = secret[i];
    const auto byte = static_cast<unsigned char>(c);
    std::size_t size = 1;
    if (style.by_number.find(c) != std::string_view::npos) {
      AppendUnit(byte, digits, out);
    } else if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
      out += {'\\', kShortNames[at]};
    } else if (c == '/' && style.slash) {
      out += "\\/";
    } else if (byte < 0x20) {
      AppendUnit(byte, digits, out);
    } else if (byte >= 0x80 && style.ascii_only) {
      const auto [point, bytes] = WideAt(secret.substr(i));
      size = bytes;
      if (point == 0) {
        out += c;
      } else if (point < 0x10000) {
        AppendUnit(point, digits, out);
      } else {
        AppendUnit(0xd800 + ((point - 0x10000) >> 10), digits, out);
        AppendUnit(0xdc00 + ((point - 0x10000) & 0x3ff), digits, out);
      }
    } else {
      out += c;
    }
    i += size;
  }
  return out;
}

void AddLines(std::string_view secret, std::set<std::string>& patterns) {
  while (!secret.empty()) {
    const std::size_t end = secret.find_first_of("\r\n");
    const std::string_view line = secret.substr(0, end);
    if (line.size() >= kLeastHiddenBytes) patterns.emplace(line);
    if (end == std::string_view::npos) return;
    secret.remove_prefix(end + 1);
  }
}

}  // namespace

void AddPatterns(std::string_view secret, std::set<std::string>& patterns) {
  // A file's last line break is often not there when its content is used.
  secret = secret.substr(0, secret.find_last_not_of("\r\n") + 1);
  if (secret.size() < kLeastHiddenBytes) return;
  patterns.emplace(secret);
  AddLines(secret, patterns);
  for (std::size_t before = 0; before < 3; ++before) AddBase64(secret, before, patterns);
  if (secret.size() > kMostEncodedBytes) return;
  for (const char* digits : {kUpper, kLower}) {
    for (const PercentStyle& style : kPercentStyles) {
      patterns.insert(PercentEncoded(secret, style, digits));
    }
  }
  for (const JsonStyle& style : kJsonStyles) patterns.insert(JsonEscaped(secret, style, kLower));
  if (secret.size() > kMostRareBytes) return;
  for (const JsonStyle& style : kJsonStyles) patterns.insert(JsonEscaped(secret, style, kUpper));
  for (const char* digits : {kUpper, kLower}) {
    for (const JsonStyle& style : kRareJsonStyles) {
      patterns.insert(JsonEscaped(secret, style, digits));
    }
  }
}

}  // namespace tidemill
