// SPDX-License-Identifier: Apache-2.0
#include "frame/json.h"

#include <charconv>
#include <cstdio>

#include "frame/text.h"

namespace tidemill::frame {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexOf(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::size_t DigitsAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end - at;
}

}  // namespace

void JsonReader::SkipSpace() {
  const std::size_t at = rest_.find_first_not_of(" \t\r\n");
  rest_.remove_prefix(at == rest_.npos ? rest_.size() : at);
}

bool JsonReader::Symbol(char symbol) {
  SkipSpace();
  if (failed_ || rest_.empty() || rest_.front() != symbol) return Fail();
  rest_.remove_prefix(1);
  return true;
}

bool JsonReader::Word(std::string_view word) {
  if (failed_ || !rest_.starts_with(word)) return Fail();
  rest_.remove_prefix(word.size());
  return true;
}

bool JsonReader::Open(char bracket) {
  if (!Symbol(bracket)) return false;
  return ++depth_ <= kDepthMost ? true : Fail();
}

bool JsonReader::Close(char bracket, bool first) {
  SkipSpace();
  if (failed_) return true;
  if (!rest_.empty() && rest_.front() == bracket) {
    rest_.remove_prefix(1);
    --depth_;
    return true;
  }
  if (!first) Symbol(',');
  return false;
}

bool JsonReader::Text(std::string& out) {
  out.clear();
  if (!Symbol('"')) return false;
  while (true) {
    const std::size_t end = rest_.find_first_of("\"\\");
    if (end == rest_.npos) return Fail();
    const std::string_view plain = rest_.substr(0, end);
    for (const char c : plain) {
      if (static_cast<unsigned char>(c) < 0x20) return Fail();
    }
    out.append(plain);
    const bool is_end = rest_[end] == '"';
    rest_.remove_prefix(end + 1);
    if (is_end) return IsUtf8(out) ? true : Fail();
    if (!Escape(out)) return false;
  }
}

bool JsonReader::CodeUnit(char32_t& unit) {
  if (rest_.size() < 4) return Fail();
  unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = HexOf(rest_[static_cast<std::size_t>(i)]);
    if (digit < 0) return Fail();
    unit = unit * 16 + static_cast<char32_t>(digit);
  }
  rest_.remove_prefix(4);
  return true;
}

bool JsonReader::Escape(std::string& out) {
  if (rest_.empty()) return Fail();
  const char kind = rest_.front();
  rest_.remove_prefix(1);
  constexpr std::string_view kKinds = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  if (const std::size_t at = kKinds.find(kind); at != kKinds.npos) {
    out.push_back(kMeant[at]);
    return true;
  }
  char32_t point = 0;
  if (kind != 'u' || !CodeUnit(point)) return Fail();
  if (point >= 0xdc00 && point <= 0xdfff) return Fail();
  if (point >= 0xd800 && point <= 0xdbff) {
    char32_t low = 0;
    if (!Word("\\u") || !CodeUnit(low) || low < 0xdc00 || low > 0xdfff) return Fail();
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  }
  AppendCodePoint(out, point);
  return true;
}

std::string_view JsonReader::Digits() {
  SkipSpace();
  std::size_t at = rest_.starts_with('-') ? 1 : 0;
  const std::size_t whole = DigitsAt(rest_, at);
  if (whole == 0 || (whole > 1 && rest_[at] == '0')) return {};
  at += whole;
  if (at < rest_.size() && rest_[at] == '.') {
    const std::size_t part = DigitsAt(rest_, at + 1);
    if (part == 0) return {};
    at += 1 + part;
  }
  if (at < rest_.size() && (rest_[at] == 'e' || rest_[at] == 'E')) {
    ++at;
    if (at < rest_.size() && (rest_[at] == '+' || rest_[at] == '-')) ++at;
    const std::size_t power = DigitsAt(rest_, at);
    if (power == 0) return {};
    at += power;
  }
  const std::string_view text = rest_.substr(0, at);
  rest_.remove_prefix(at);
  return text;
}

bool JsonReader::Number(double& out) {
  if (failed_) return false;
  const std::string_view text = Digits();
  if (text.empty()) return Fail();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? true : Fail();
}

bool JsonReader::Whole(std::uint64_t& out) {
  if (failed_) return false;
  const std::string_view text = Digits();
  if (text.empty()) return Fail();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? true : Fail();
}

bool JsonReader::Skip() {
  SkipSpace();
  if (failed_ || rest_.empty()) return Fail();
  switch (rest_.front()) {
    case '{':
      return Object([this](const std::string&) { return Skip(); });
    case '[':
      return Array([this] { return Skip(); });
    case '"': {
      std::string ignored;
      return Text(ignored);
    }
    case 't':
      return Word("true");
    case 'f':
      return Word("false");
    case 'n':
      return Word("null");
    default:
      return Digits().empty() ? Fail() : true;
  }
}

bool JsonReader::Raw(std::string& out) {
  SkipSpace();
  const std::string_view before = rest_;
  if (!Skip()) return false;
  out = before.substr(0, before.size() - rest_.size());
  return true;
}

bool JsonReader::AtEnd() {
  SkipSpace();
  return !failed_ && rest_.empty();
}

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      out.append(escaped);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

std::optional<std::uint64_t> ItemNameOf(std::string_view json) {
  if (json.find_first_of(std::string_view("\r\n\0", 3)) != json.npos) return std::nullopt;
  JsonReader reader(json);
  std::optional<std::uint64_t> name;
  const bool good = reader.Object([&](const std::string& member) {
    if (member != "item") return reader.Skip();
    std::uint64_t number = 0;
    if (name || !reader.Whole(number)) return false;
    name = number;
    return true;
  });
  return good && reader.AtEnd() ? name : std::nullopt;
}

}  // namespace tidemill::frame
