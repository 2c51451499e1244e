// SPDX-License-Identifier: Apache-2.0
#include "yaml/slip.h"

#include <algorithm>

namespace tidemill {
namespace {

std::string_view LineOfText(std::string_view text, int number) {
  for (int i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool IsIndentedByTab(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return line.substr(0, first).find('\t') != std::string_view::npos;
}

bool IsWord(std::string_view text) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_word);
}

// The line with a quote in the place of each letter between quotes.
std::string WithoutQuoted(std::string_view line) {
  std::string out;
  char quote = 0;
  for (const char c : line) {
    const bool is_quote = c == '"' || c == '\'';
    out.push_back(quote != 0 || is_quote ? '"' : c);
    if (quote != 0 ? c == quote : is_quote) quote = quote == 0 ? c : '\0';
  }
  return out;
}

// The first word of a line with a template that no quotes are around: out/{item}.png
std::optional<std::string> BareWord(std::string_view line) {
  constexpr std::string_view kEnds = " \t,[]\r";
  const std::string unquoted = WithoutQuoted(line);
  std::string_view rest = unquoted;
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kEnds), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(kEnds));
    rest.remove_prefix(word.size());
    if (word.starts_with("#")) return std::nullopt;
    const std::size_t open = word.find('{');
    if (open == std::string_view::npos || word.find('"') != std::string_view::npos) continue;
    const std::size_t close = word.find('}', open);
    if (close == std::string_view::npos) continue;
    if (IsTemplate(word.substr(open, close - open + 1))) return std::string(word);
  }
  return std::nullopt;
}

}  // namespace

bool IsTemplate(std::string_view text) {
  if (text.size() < 3 || text.front() != '{' || text.back() != '}') return false;
  text = text.substr(1, text.size() - 2);
  if (text.front() < 'a' || text.front() > 'z') return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!IsWord(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::optional<Slip> SlipNear(std::string_view yaml, int line) {
  for (const int number : {line, line - 1}) {
    if (number < 1) continue;
    const std::string_view text = LineOfText(yaml, number);
    if (IsIndentedByTab(text)) return Slip{number, "a tab; YAML is indented with spaces"};
    if (const auto word = BareWord(text)) return Slip{number, "quote it: \"" + *word + "\""};
  }
  return std::nullopt;
}

}  // namespace tidemill
