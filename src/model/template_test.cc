// SPDX-License-Identifier: Apache-2.0
#include "model/template.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tidemill {
namespace {

using Kind = TemplatePiece::Kind;
using Pieces = std::vector<TemplatePiece>;

TemplatePiece Text(std::string text) { return {Kind::kText, std::move(text)}; }

TEST(Template, EveryWordHasItsMeaning) {
  EXPECT_EQ(ParseTemplate("{item}"), (Pieces{{Kind::kItem, ""}}));
  EXPECT_EQ(ParseTemplate("{index}{count}"), (Pieces{{Kind::kIndex, ""}, {Kind::kCount, ""}}));
  EXPECT_EQ(ParseTemplate("{job}-{attempt}"),
            (Pieces{{Kind::kJob, ""}, Text("-"), {Kind::kAttempt, ""}}));
  EXPECT_EQ(ParseTemplate("--out={item.stem}.png"),
            (Pieces{Text("--out="), {Kind::kItemField, "stem"}, Text(".png")}));
  EXPECT_EQ(ParseTemplate("{item.a.B-c.0}"), (Pieces{{Kind::kItemField, "a.B-c.0"}}));
  EXPECT_EQ(ParseTemplate("{params.Learning_rate}"), (Pieces{{Kind::kParam, "Learning_rate"}}));
}

TEST(Template, AWordWithoutMeaningIsUnknown) {
  for (const char* name : {"itme", "index.x", "params", "params.a.b", "print", "i"}) {
    EXPECT_EQ(ParseTemplate("{" + std::string(name) + "}"), (Pieces{{Kind::kUnknown, name}}));
  }
}

TEST(Template, OtherBracesAreOnlyBraces) {
  for (const char* text : {"{}",           "{",        "}",          "}{",
                           "{ item}",      "{item }",  "{Item}",     "{1}",
                           "{_a}",         "{item.}",  "{.item}",    "{item..a}",
                           "{item",        "item}",    "{print $1}", "${item}",
                           "${item.stem}", "{a,b}",    "{1..9}",     R"({"a": {"b": 1}})",
                           "{item.a b}",   "$${item}", "\\{}",       "{{}}",
                           "{{ a }}"}) {
    EXPECT_EQ(ParseTemplate(text), Pieces{Text(text)}) << text;
  }
}

TEST(Template, DoubledBracesAreTheLettersThemselves) {
  EXPECT_EQ(ParseTemplate("{{item}}"), Pieces{Text("{item}")});
  EXPECT_EQ(ParseTemplate("awk '{{print}}'"), Pieces{Text("awk '{print}'")});
  EXPECT_EQ(ParseTemplate("${{item}}"), Pieces{Text("${item}")});
  EXPECT_EQ(ParseTemplate("{{{item}}}"), Pieces{Text("{{item}}")});
  EXPECT_EQ(ParseTemplate("{{item}"), (Pieces{Text("{"), {Kind::kItem, ""}}));
  EXPECT_EQ(ParseTemplate("{{item.a}}{item}"), (Pieces{Text("{item.a}"), {Kind::kItem, ""}}));
}

TEST(Template, TextWithoutBracesIsItself) {
  rc::check([](std::string text) {
    std::erase_if(text, [](char c) { return c == '{'; });
    RC_ASSERT(ParseTemplate(text) == (text.empty() ? Pieces{} : Pieces{Text(text)}));
  });
}

TEST(Template, NoMixtureOfBracesLosesOrInventsLetters) {
  const auto part = rc::gen::element<std::string>("{", "}", "$", ".", "item", "params", "x", " ",
                                                  "{item}", "{{item}}", "{params.x}", "-");
  rc::check([&part] {
    std::string text;
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(part)) text += one;
    std::size_t letters = 0;
    bool was_text = false;
    for (const TemplatePiece& piece : ParseTemplate(text)) {
      const bool is_text = piece.kind == Kind::kText;
      RC_ASSERT(!(is_text && (was_text || piece.text.empty())));
      was_text = is_text;
      letters += piece.text.size();
    }
    RC_ASSERT(letters <= text.size());
  });
}

TEST(Template, AParamsNameFitsBetweenBraces) {
  for (const char* name : {"a", "A1_b-c", "0"}) EXPECT_TRUE(IsParamName(name)) << name;
  for (const char* name : {"", "a.b", "a b", "{a}", "\xc3\xbc"}) {
    EXPECT_FALSE(IsParamName(name)) << name;
  }
}

}  // namespace
}  // namespace tidemill
