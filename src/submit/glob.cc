// SPDX-License-Identifier: Apache-2.0
#include "submit/glob.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

// The next character of UTF-8; a byte that is none stands for itself.
char32_t TakeCharacter(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t character = length == 1 ? first : first & (0x7fu >> length);
  if (at + length > text.size()) return byte(at++);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return byte(at++);
    character = (character << 6) | (byte(at + i) & 0x3fu);
  }
  at += length;
  return character;
}

// Behind the bracket that begins at `at`; `at` + 1 if it does not end.
std::size_t EndOfSet(std::string_view pattern, std::size_t at) {
  std::size_t i = at + 1;
  if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;
  for (; i < pattern.size() && pattern[i] != '/'; ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == ']') {
      return i + 1;
    }
  }
  return at + 1;
}

// Behind what stands at `at` as one: an escape, a set, or a character.
std::size_t Behind(std::string_view pattern, std::size_t at) {
  if (pattern[at] == '\\') return std::min(at + 2, pattern.size());
  if (pattern[at] == '[') return EndOfSet(pattern, at);
  return at + 1;
}

struct Braces {
  std::size_t begin = 0;
  std::size_t end = 0;  // behind the last
  std::vector<std::string_view> choices = {};
};

// The first braces of a pattern; `begin` is npos if there are none. kInvalid: they do not end.
Result<Braces> FindBraces(std::string_view pattern) {
  Braces braces{.begin = std::string_view::npos};
  std::size_t depth = 0;
  std::size_t choice = 0;
  for (std::size_t at = 0; at < pattern.size(); at = Behind(pattern, at)) {
    const char c = pattern[at];
    if (c == '{' && ++depth == 1) {
      braces.begin = at;
      choice = at + 1;
    }
    if (depth == 1 && (c == ',' || c == '}')) {
      braces.choices.push_back(pattern.substr(choice, at - choice));
      choice = at + 1;
    }
    if (c == '}' && depth > 0 && --depth == 0) {
      braces.end = at + 1;
      return braces;
    }
  }
  if (depth > 0) return Fail(Code::kInvalid, "a '{' without its '}'; for the character write \\{");
  return braces;
}

Result<void> Expand(const std::string& pattern, std::vector<std::string>& out) {
  TIDEMILL_TRY(const Braces braces, FindBraces(pattern));
  if (braces.begin == std::string_view::npos) {
    if (out.size() == Glob::kAlternatives) {
      return Fail(Code::kInvalid, "its braces stand for more than " +
                                      std::to_string(Glob::kAlternatives) + " patterns");
    }
    out.push_back(pattern);
    return {};
  }
  for (const std::string_view choice : braces.choices) {
    TIDEMILL_TRY_VOID(Expand(
        pattern.substr(0, braces.begin) + std::string(choice) + pattern.substr(braces.end), out));
  }
  return {};
}

}  // namespace

bool Glob::Token::Takes(char32_t character) const {
  switch (kind) {
    case Kind::kOne:
      return character == one;
    case Kind::kAnyOne:
      return true;
    case Kind::kSet:
      return negated != std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
               return range.first <= character && character <= range.second;
             });
    case Kind::kRun:
      break;
  }
  return false;
}

Result<Glob::Token> Glob::ParseSet(std::string_view pattern, std::size_t& at) {
  const std::size_t end = EndOfSet(pattern, at);
  if (end == at + 1) {
    return Fail(Code::kInvalid, "a '[' without its ']'; for the character write \\[");
  }
  Token token{.kind = Token::Kind::kSet};
  ++at;
  if (pattern[at] == '!' || pattern[at] == '^') {
    token.negated = true;
    ++at;
  }
  const auto take = [&] {
    if (pattern[at] == '\\' && at + 2 < end) ++at;
    return TakeCharacter(pattern, at);
  };
  while (at + 1 < end) {
    const char32_t low = take();
    char32_t high = low;
    if (at + 2 < end && pattern[at] == '-') {
      ++at;
      high = take();
    }
    if (high < low) return Fail(Code::kInvalid, "a range in '[]' goes backwards");
    token.ranges.emplace_back(low, high);
  }
  at = end;
  return token;
}

Result<Glob::Alternative> Glob::ParseAlternative(std::string_view pattern) {
  Alternative made;
  bool wild = false;
  for (std::size_t at = 0;;) {
    Step step;
    const std::size_t begin = at;
    while (at < pattern.size() && pattern[at] != '/') {
      Token token;
      if (pattern[at] == '*' || pattern[at] == '?') {
        token.kind = pattern[at] == '*' ? Token::Kind::kRun : Token::Kind::kAnyOne;
        ++at;
      } else if (pattern[at] == '[') {
        TIDEMILL_TRY(token, ParseSet(pattern, at));
      } else {
        if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
        const std::size_t first = at;
        token.one = TakeCharacter(pattern, at);
        if (!wild) made.prefix += pattern.substr(first, at - first);
      }
      wild = wild || token.kind != Token::Kind::kOne;
      step.part.push_back(std::move(token));
    }
    const std::string_view text = pattern.substr(begin, at - begin);
    const bool last = at == pattern.size();
    step.any_parts = text == "**";
    made.steps.push_back(step);
    // Everything below, but not the place itself.
    if (step.any_parts && last) made.steps.push_back({.part = {{.kind = Token::Kind::kRun}}});
    if (made.steps.size() > kParts) {
      return Fail(Code::kInvalid, "it has more than " + std::to_string(kParts) + " parts");
    }
    if (last) return made;
    if (!wild) made.prefix += '/';
    ++at;
  }
}

Result<Glob> Glob::Parse(std::string_view pattern) {
  std::vector<std::string> plain;
  TIDEMILL_TRY_VOID(Expand(std::string(pattern), plain));
  Glob glob;
  for (const std::string& one : plain) {
    TIDEMILL_TRY(Alternative alternative, ParseAlternative(one));
    glob.alternatives_.push_back(std::move(alternative));
  }
  return glob;
}

bool Glob::IsPattern(std::string_view text) {
  return text.find_first_of("*?[{\\") != std::string_view::npos;
}

bool Glob::TakesPart(const Part& part, std::string_view text) {
  if (part.size() == 1 && part[0].kind == Token::Kind::kRun) return !text.empty();
  // One star is enough to come back to: what an earlier one takes more, the last one can take too.
  std::size_t token = 0;
  std::size_t at = 0;
  std::size_t star = part.size();
  std::size_t star_at = 0;
  while (at < text.size()) {
    std::size_t next = at;
    if (token < part.size() && part[token].kind == Token::Kind::kRun) {
      star = token++;
      star_at = at;
    } else if (token < part.size() && part[token].Takes(TakeCharacter(text, next))) {
      ++token;
      at = next;
    } else if (star < part.size()) {
      TakeCharacter(text, star_at);
      at = star_at;
      token = star + 1;
    } else {
      return false;
    }
  }
  while (token < part.size() && part[token].kind == Token::Kind::kRun) ++token;
  return token == part.size();
}

bool Glob::Takes(const Alternative& alternative, std::string_view key) {
  if (!key.starts_with(alternative.prefix)) return false;
  const std::vector<Step>& steps = alternative.steps;
  // Where one can stand in the steps, as bits; a ** may stand for no part at all.
  const auto pass = [&](std::uint64_t at) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if ((at >> i & 1) != 0 && steps[i].any_parts) at |= std::uint64_t{1} << (i + 1);
    }
    return at;
  };
  std::uint64_t at = pass(1);
  while (at != 0) {
    const std::size_t slash = key.find('/');
    const std::string_view part = key.substr(0, slash);
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if ((at >> i & 1) == 0) continue;
      if (steps[i].any_parts) {
        next |= std::uint64_t{1} << i;
      } else if (TakesPart(steps[i].part, part)) {
        next |= std::uint64_t{1} << (i + 1);
      }
    }
    at = pass(next);
    if (slash == std::string_view::npos) break;
    key.remove_prefix(slash + 1);
  }
  return (at >> steps.size() & 1) != 0;
}

bool Glob::Matches(std::string_view key) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const Alternative& one) { return Takes(one, key); });
}

std::vector<std::string> Glob::Prefixes() const {
  std::vector<std::string> all;
  for (const Alternative& one : alternatives_) all.push_back(one.prefix);
  std::sort(all.begin(), all.end());
  std::vector<std::string> kept;
  for (std::string& prefix : all) {
    if (kept.empty() || !prefix.starts_with(kept.back())) kept.push_back(std::move(prefix));
  }
  return kept;
}

}  // namespace tidemill
