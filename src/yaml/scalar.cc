// SPDX-License-Identifier: Apache-2.0
#include "yaml/scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/ascii.h"

namespace tidemill {
namespace {

std::size_t Digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), IsDigit) -
                                  text.begin());
}

tl::unexpected<Error> TooLarge(std::string_view word) {
  return Fail(Code::kInvalid,
              "the number " + std::string(word.substr(0, 40)) + " is too large; quote it");
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Digits of a base, all of them; a sign may stand before decimal ones.
Result<std::string> Whole(std::string_view word, std::string_view digits, int base) {
  const bool minus = word.front() == '-';
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number, base);
  const std::uint64_t most = minus ? std::uint64_t{1} << 63 : ~std::uint64_t{0};
  if (error != std::errc{} || rest != end || number > most) return TooLarge(word);
  return (minus ? "-" : "") + std::to_string(number);
}

// 1.5e3 has whole "1", fraction "5" and exponent "3".
struct Parts {
  std::string_view whole;
  std::string_view fraction;
  std::string_view exponent;
  bool has_point = false;
};

// False: it is no number.
bool Split(std::string_view text, Parts& parts) {
  parts.whole = text.substr(0, Digits(text));
  text.remove_prefix(parts.whole.size());
  if (text.starts_with(".")) {
    parts.has_point = true;
    text.remove_prefix(1);
    parts.fraction = text.substr(0, Digits(text));
    text.remove_prefix(parts.fraction.size());
  }
  if (parts.whole.empty() && parts.fraction.empty()) return false;
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  parts.exponent = text;
  if (text.starts_with("-") || text.starts_with("+")) text.remove_prefix(1);
  return !text.empty() && Digits(text) == text.size();
}

Result<std::string> Number(std::string_view word, const Parts& parts) {
  std::string_view whole = parts.whole;
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  std::string json = word.front() == '-' ? "-" : "";
  json.append(whole.empty() ? "0" : whole);
  json.append(".").append(parts.fraction.empty() ? "0" : parts.fraction);
  if (!parts.exponent.empty()) json.append("e").append(parts.exponent);
  double number = 0;
  const auto [rest, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  if (error != std::errc{} || rest != json.data() + json.size()) return TooLarge(word);
  return json;
}

}  // namespace

Result<std::string> PlainToJson(std::string_view word) {
  if (IsOneOf(word, {"", "~", "null", "Null", "NULL"})) return "null";
  if (IsOneOf(word, {"true", "True", "TRUE"})) return "true";
  if (IsOneOf(word, {"false", "False", "FALSE"})) return "false";
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  const auto is_hex = [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  const std::string_view after = word.size() > 2 ? word.substr(2) : "";
  if (!after.empty() && word.starts_with("0o") && std::all_of(after.begin(), after.end(), is_octal))
    return Whole(word, after, 8);
  if (!after.empty() && word.starts_with("0x") && std::all_of(after.begin(), after.end(), is_hex))
    return Whole(word, after, 16);
  const bool has_sign = word.front() == '-' || word.front() == '+';
  const std::string_view number = word.substr(has_sign ? 1 : 0);
  if (IsOneOf(number, {".inf", ".Inf", ".INF"}) || IsOneOf(word, {".nan", ".NaN", ".NAN"})) {
    return Fail(Code::kInvalid, std::string(word) + " is no number here; quote it");
  }
  Parts parts;
  if (!Split(number, parts)) return TextToJson(word);
  if (!parts.has_point && parts.exponent.empty()) return Whole(word, parts.whole, 10);
  return Number(word, parts);
}

std::string TextToJson(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json.append("\\").push_back(c);
    } else if (c == '\n') {
      json.append("\\n");
    } else if (byte < 0x20) {
      json.append("\\u00");
      json.push_back(kHex[byte >> 4U]);
      json.push_back(kHex[byte & 15U]);
    } else {
      json.push_back(c);
    }
  }
  return json.append("\"");
}

std::size_t FindNotUtf8(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned first = byte(i);
    const unsigned next = byte(i + 1);
    std::size_t size = 0;
    if (first > 0 && first < 0x80) size = 1;
    if (first >= 0xc2 && first < 0xe0) size = 2;
    if (first >= 0xe0 && first < 0xf0) size = 3;
    if (first >= 0xf0 && first < 0xf5) size = 4;
    // Longer than need be, half of a surrogate pair, or past U+10FFFF.
    const bool is_bad = (first == 0xe0 && next < 0xa0) || (first == 0xed && next > 0x9f) ||
                        (first == 0xf0 && next < 0x90) || (first == 0xf4 && next > 0x8f);
    if (size == 0 || is_bad) return i;
    for (std::size_t k = 1; k < size; ++k) {
      if ((byte(i + k) & 0xc0U) != 0x80U) return i;
    }
    i += size;
  }
  return i;
}

}  // namespace tidemill
