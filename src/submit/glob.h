// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tidemill {

// A pattern for keys, whose parts have '/' between them:
//
//   *       any characters of one part; alone it stands for a part that is not empty
//   **      alone in a part: any number of parts; at the end: everything below
//   ?       one character
//   [a-z]   one of these; [!a-z] one that is none of these
//   {a,b}   one of these, which may be patterns themselves, and have '/'
//   \x      the character x, whatever it means elsewhere
//
// No character but '/' itself matches '/'. Pure.
class Glob {
 public:
  // Braces multiply: {a,b}{c,d} are four patterns, each of which is held against each key.
  static constexpr std::size_t kAlternatives = 256;
  static constexpr std::size_t kParts = 60;

  // kInvalid: a bracket or a brace that does not end, or too many parts or alternatives.
  static Result<Glob> Parse(std::string_view pattern);
  // Whether it is more than the name of one key.
  static bool IsPattern(std::string_view text);

  bool Matches(std::string_view key) const;
  // Every key that matches begins with one of these. In the order of bytes, and none begins with
  // another, so what is below them, one after the other, is in that order too.
  std::vector<std::string> Prefixes() const;

 private:
  struct Token {
    enum class Kind { kOne, kAnyOne, kSet, kRun };
    Kind kind = Kind::kOne;
    char32_t one = 0;
    std::vector<std::pair<char32_t, char32_t>> ranges = {};
    bool negated = false;
    bool Takes(char32_t character) const;
  };
  using Part = std::vector<Token>;
  struct Step {
    bool any_parts = false;  // **
    Part part = {};
  };
  // One way through the braces.
  struct Alternative {
    std::vector<Step> steps = {};
    std::string prefix = {};
  };
  static Result<Alternative> ParseAlternative(std::string_view pattern);
  static Result<Token> ParseSet(std::string_view pattern, std::size_t& at);
  static bool TakesPart(const Part& part, std::string_view text);
  static bool Takes(const Alternative& alternative, std::string_view key);

  std::vector<Alternative> alternatives_;
};

}  // namespace tidemill
