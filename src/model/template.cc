// SPDX-License-Identifier: Apache-2.0
#include "model/template.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace tidemill {
namespace {

using Kind = TemplatePiece::Kind;

bool IsWordChar(char c) {
  return IsLower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool IsNameChar(char c) { return IsWordChar(c) || c == '-'; }

// The length of `word` or `word.more` at the front of `text`, if '}' comes right after it; else 0.
std::size_t NameLength(std::string_view text) {
  if (text.empty() || !IsLower(text.front())) return 0;
  std::size_t end = 0;
  while (end < text.size() && IsWordChar(text[end])) ++end;
  while (end < text.size() && text[end] == '.') {
    const std::size_t begin = ++end;
    while (end < text.size() && IsNameChar(text[end])) ++end;
    if (end == begin) return 0;
  }
  return end < text.size() && text[end] == '}' ? end : 0;
}

TemplatePiece Meaning(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Kind>, 7> kPlain = {{
      {"item", Kind::kItem},
      {"index", Kind::kIndex},
      {"count", Kind::kCount},
      {"job", Kind::kJob},
      {"attempt", Kind::kAttempt},
      {"input", Kind::kInput},
      {"output", Kind::kOutput},
  }};
  constexpr std::string_view kField = "item.";
  constexpr std::array<std::pair<std::string_view, Kind>, 3> kNamed = {{
      {"params.", Kind::kParam},
      {"input.", Kind::kInput},
      {"output.", Kind::kOutput},
  }};
  for (const auto& [word, kind] : kPlain) {
    if (name == word) return {kind, {}};
  }
  if (name.starts_with(kField)) {
    return {Kind::kItemField, std::string(name.substr(kField.size()))};
  }
  for (const auto& [word, kind] : kNamed) {
    if (name.starts_with(word) && IsParamName(name.substr(word.size()))) {
      return {kind, std::string(name.substr(word.size()))};
    }
  }
  return {Kind::kUnknown, std::string(name)};
}

}  // namespace

std::vector<TemplatePiece> ParseTemplate(std::string_view text) {
  std::vector<TemplatePiece> pieces;
  std::string plain;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("{{")) {
      const std::size_t length = NameLength(rest.substr(2));
      if (length > 0 && rest.substr(2 + length).starts_with("}}")) {
        plain.append(rest.substr(1, length + 2));
        i += length + 4;
        continue;
      }
    }
    const bool is_shells = i > 0 && text[i - 1] == '$';
    const std::size_t length = rest.front() == '{' && !is_shells ? NameLength(rest.substr(1)) : 0;
    if (length == 0) {
      plain.push_back(rest.front());
      ++i;
      continue;
    }
    if (!plain.empty()) pieces.push_back({Kind::kText, std::exchange(plain, {})});
    pieces.push_back(Meaning(rest.substr(1, length)));
    i += length + 2;
  }
  if (!plain.empty()) pieces.push_back({Kind::kText, std::move(plain)});
  return pieces;
}

bool IsOfOneItem(Kind kind) {
  return kind == Kind::kItem || kind == Kind::kItemField || kind == Kind::kIndex ||
         kind == Kind::kAttempt || kind == Kind::kInput || kind == Kind::kOutput;
}

bool IsParamName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameChar);
}

}  // namespace tidemill
