// SPDX-License-Identifier: Apache-2.0
#include "submit/glob.h"

#include <random>
#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

bool Matches(std::string_view pattern, std::string_view key) {
  const auto glob = Glob::Parse(pattern);
  EXPECT_TRUE(glob) << pattern;
  return glob && glob->Matches(key);
}

TEST(Glob, StaysWithinAPartWithOneStarAndCrossesWithTwo) {
  EXPECT_TRUE(Matches("a/*.jpg", "a/b.jpg"));
  EXPECT_TRUE(Matches("a/*.jpg", "a/.jpg"));
  EXPECT_FALSE(Matches("a/*.jpg", "a/b/c.jpg"));
  EXPECT_TRUE(Matches("a/**/*.jpg", "a/b/c.jpg"));
  EXPECT_TRUE(Matches("a/**/*.jpg", "a/c.jpg"));
  EXPECT_FALSE(Matches("a/**/*.jpg", "ab/c.jpg"));
  EXPECT_TRUE(Matches("a/**", "a/b/c"));
  EXPECT_FALSE(Matches("a/**", "a"));
  EXPECT_TRUE(Matches("**", "a/b"));
  EXPECT_TRUE(Matches("a/**/b/**/c", "a/b/b/x/c"));
  EXPECT_FALSE(Matches("a/**/b/**/c", "a/x/c"));
  EXPECT_TRUE(Matches("a**b", "axxb"));
  EXPECT_FALSE(Matches("a**b", "ax/xb"));
}

TEST(Glob, LeavesOutTheMarksOfFolders) {
  EXPECT_FALSE(Matches("a/*", "a/"));
  EXPECT_FALSE(Matches("a/**", "a/"));
  EXPECT_FALSE(Matches("a/**", "a/b/"));
  EXPECT_TRUE(Matches("a/b/", "a/b/"));
}

TEST(Glob, HasSetsAndCharacters) {
  EXPECT_TRUE(Matches("[a-c]?[!x]", "b-y"));
  EXPECT_FALSE(Matches("[a-c]?[!x]", "b-x"));
  EXPECT_FALSE(Matches("a?b", "a/b"));
  EXPECT_FALSE(Matches("a[!x]b", "a/b"));
  EXPECT_TRUE(Matches("[]]", "]"));
  EXPECT_TRUE(Matches("[!]]", "a"));
  EXPECT_TRUE(Matches("[a-]", "-"));
  EXPECT_TRUE(Matches("[\\]]", "]"));
  EXPECT_TRUE(Matches("\\*\\[\\{", "*[{"));
  EXPECT_FALSE(Matches("\\*", "a"));
  EXPECT_TRUE(Matches("?", "é"));
  EXPECT_TRUE(Matches("[à-ü]t?", "été"));
  EXPECT_FALSE(Matches("?", "ab"));
}

TEST(Glob, HasAlternatives) {
  EXPECT_TRUE(Matches("*.{jpg,png}", "a.png"));
  EXPECT_FALSE(Matches("*.{jpg,png}", "a.gif"));
  EXPECT_TRUE(Matches("{a/b,c}/x", "a/b/x"));
  EXPECT_TRUE(Matches("{a{1,2},b}", "a2"));
  EXPECT_TRUE(Matches("x{,.gz}", "x"));
  EXPECT_TRUE(Matches("[{]", "{"));
  EXPECT_TRUE(Matches("a}b,", "a}b,"));
}

TEST(Glob, SaysWhatIsWrong) {
  for (const char* const bad : {"a[b", "a{b", "[z-a]", "{a,{b}", "[a/b]"}) {
    const auto glob = Glob::Parse(bad);
    ASSERT_FALSE(glob) << bad;
    EXPECT_EQ(glob.error().code, Code::kInvalid);
  }
  std::string many;
  for (int i = 0; i < 9; ++i) many += "{a,b}";
  EXPECT_FALSE(Glob::Parse(many));
  EXPECT_TRUE(Glob::Parse(many.substr(5)));
  std::string deep = "a";
  for (int i = 0; i < 60; ++i) deep += "/a";
  EXPECT_FALSE(Glob::Parse(deep));
  EXPECT_TRUE(Glob::IsPattern("a/*"));
  EXPECT_FALSE(Glob::IsPattern("a/list.csv"));
}

TEST(Glob, KnowsWhereToLook) {
  using Texts = std::vector<std::string>;
  const auto prefixes = [](std::string_view pattern) { return Glob::Parse(pattern)->Prefixes(); };
  EXPECT_EQ(prefixes("a/b/**/*.jpg"), (Texts{"a/b/"}));
  EXPECT_EQ(prefixes("a/img-*"), (Texts{"a/img-"}));
  EXPECT_EQ(prefixes("*"), (Texts{""}));
  EXPECT_EQ(prefixes("{b,a}/x*"), (Texts{"a/x", "b/x"}));
  EXPECT_EQ(prefixes("a/{x,xy,b}*"), (Texts{"a/b", "a/x"}));
  EXPECT_EQ(prefixes("a\\*b/*"), (Texts{"a*b/"}));
}

// The slow one: the pattern as a regular expression, put together without knowing our code.
std::string AsRegex(std::string_view pattern) {
  std::string out;
  int depth = 0;
  for (std::size_t at = 0; at < pattern.size();) {
    const bool begins = at == 0 || pattern[at - 1] == '/' || pattern[at - 1] == '{' ||
                        (depth > 0 && pattern[at - 1] == ',');
    const std::string_view rest = pattern.substr(at);
    const auto ends = [&](std::size_t size) {
      return rest.size() == size || rest[size] == '/' ||
             (depth > 0 && (rest[size] == ',' || rest[size] == '}'));
    };
    if (begins && rest.starts_with("**/")) {
      out += "([^/]*/)*";
      at += 3;
    } else if (begins && rest.starts_with("**") && ends(2)) {
      out += "([^/]*/)*[^/]+";
      at += 2;
    } else if (rest[0] == '*') {
      std::size_t stars = 1;
      while (stars < rest.size() && rest[stars] == '*') ++stars;
      out += begins && stars == 1 && ends(1) ? "[^/]+" : "[^/]*";
      at += stars;
    } else {
      const char c = rest[0];
      if (c == '{') ++depth;
      if (c == '}') --depth;
      if (c == '?') out += "[^/]";
      if (c == '{') out += "(";
      if (c == '}') out += ")";
      if (c == ',') out += "|";
      if (c == '[') {
        const std::size_t end = rest.find(']');
        out += rest[1] == '!' ? "[^/" + std::string(rest.substr(2, end - 1))
                              : std::string(rest.substr(0, end + 1));
        at += end;
      } else if (std::string_view("?{},").find(c) == std::string_view::npos) {
        out += c;
      }
      ++at;
    }
  }
  return out;
}

TEST(Glob, SaysTheSameAsARegularExpression) {
  std::mt19937 random(7);
  const auto pick = [&](std::vector<std::string> from) { return from[random() % from.size()]; };
  // Whole parts, so that braces and stars stand where both read them alike.
  const auto part = [&] {
    return pick({"*", "**", "a", "b", "a*", "*b", "?", "a?b", "[ab]", "[!a]c", "*a*b", "{a,b}",
                 "{a,b*}c", "x{,a}", "a*b*c", "{ab,a/b}", "{*a,b}a"});
  };
  int matched = 0;
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string pattern = part();
    for (auto parts = random() % 4; parts > 0; --parts) pattern += "/" + part();
    const auto glob = Glob::Parse(pattern);
    ASSERT_TRUE(glob) << pattern;
    const std::regex slow(AsRegex(pattern));
    const std::vector<std::string> prefixes = glob->Prefixes();
    for (int keys = 0; keys < 30; ++keys) {
      std::string key;
      for (auto size = 1 + random() % 9; size > 0; --size) key += pick({"a", "b", "c", "x", "/"});
      const bool expected = std::regex_match(key, slow);
      ASSERT_EQ(glob->Matches(key), expected) << pattern << " and " << key;
      ++(expected ? matched : refused);
      if (!expected) continue;
      EXPECT_TRUE(std::any_of(prefixes.begin(), prefixes.end(),
                              [&](const std::string& one) { return key.starts_with(one); }))
          << pattern << " and " << key;
    }
  }
  EXPECT_GT(matched, 1000);
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace tidemill
