// SPDX-License-Identifier: Apache-2.0
#include "yaml/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "yaml/scalar.h"

namespace tidemill {
namespace {

std::string Json(std::string_view yaml) {
  const auto text = ToJson(yaml);
  return text ? text->json : "error: " + text.error().reason;
}

// What a word without quotes becomes.
std::string Plain(std::string_view word) {
  const std::string json = Json("a: " + std::string(word));
  return json.starts_with("{\"a\":") ? json.substr(5, json.size() - 6) : json;
}

TEST(Yaml, AJobsFileBecomesJson) {
  EXPECT_EQ(Json("# a job\n"
                 "name: render\n"
                 "image: registry.example/render:3\n"
                 "command: [render, --in, \"{item}\"]\n"
                 "env:\n"
                 "  THREADS: 4\n"
                 "  QUICK: true\n"
                 "resources: {cpus: 0.5, memory: 4GiB}\n"
                 "entrypoint:\n"
                 "  - sh\n"
                 "  - -c\n"
                 "  - |\n"
                 "    echo \"$1\"\n"
                 "    \tend\n"),
            R"({"name":"render","image":"registry.example/render:3",)"
            R"("command":["render","--in","{item}"],"env":{"THREADS":4,"QUICK":true},)"
            R"("resources":{"cpus":0.5,"memory":"4GiB"},)"
            R"("entrypoint":["sh","-c","echo \"$1\"\n\u0009end\n"]})");
  EXPECT_EQ(Json("retry: {on: [75]}"), R"({"retry":{"on":[75]}})");
  EXPECT_EQ(Json("[]"), "[]");
  EXPECT_EQ(Json("{}"), "{}");
  EXPECT_EQ(Json("--- \na: b\n...\n"), R"({"a":"b"})");
  EXPECT_EQ(Json("\xef\xbb\xbf"
                 "a: \xc3\xbc\n"),
            "{\"a\":\"\xc3\xbc\"}");
}

TEST(Yaml, WordsWithoutQuotesAreReadByTheCoreSchema) {
  for (const char* word : {"~", "null", "Null", "NULL", ""}) EXPECT_EQ(Plain(word), "null");
  for (const char* word : {"true", "True", "TRUE"}) EXPECT_EQ(Plain(word), "true");
  for (const char* word : {"false", "False", "FALSE"}) EXPECT_EQ(Plain(word), "false");
  EXPECT_EQ(Plain("0"), "0");
  EXPECT_EQ(Plain("-12"), "-12");
  EXPECT_EQ(Plain("+12"), "12");
  EXPECT_EQ(Plain("007"), "7");
  EXPECT_EQ(Plain("0o17"), "15");
  EXPECT_EQ(Plain("0xFf"), "255");
  EXPECT_EQ(Plain("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(Plain("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Plain("1.50"), "1.50");
  EXPECT_EQ(Plain("-.5"), "-0.5");
  EXPECT_EQ(Plain("1."), "1.0");
  EXPECT_EQ(Plain("1e3"), "1.0e3");
  EXPECT_EQ(Plain("+01.5E-3"), "1.5e-3");
}

TEST(Yaml, EverythingElseIsText) {
  for (const char* word :
       {"yes",   "no",  "on",   "off",  "Yes",   "y",          "1:30", "30m", "4GiB",
        "1_000", "0b1", "0x",   "0o8",  "1.2.3", "2026-05-01", "-",    ".",   "+",
        "e3",    "1e",  "tRUE", "nULL", "0xg",   "--in",       "<<"}) {
    if (std::string_view(word) == "-") continue;  // begins a list
    EXPECT_EQ(Plain(word), "\"" + std::string(word) + "\"");
  }
  EXPECT_EQ(Plain("'5'"), "\"5\"");
  EXPECT_EQ(Plain("\"true\""), "\"true\"");
  EXPECT_EQ(Plain("'~'"), "\"~\"");
  EXPECT_EQ(Plain("''"), "\"\"");
  EXPECT_EQ(Plain("!!str 5"), "\"5\"");
  EXPECT_EQ(Plain("\"a\\\"b\\\\c\\n\\x01\""), R"("a\"b\\c\n\u0001")");
}

TEST(Yaml, LinesAreKnownByPath) {
  const auto text = ToJson(
      "name: a\n"
      "resources:\n"
      "  cpus: 2\n"
      "\n"
      "  memry: 4GiB\n"
      "command:\n"
      "  - sh\n"
      "  - x: [1,\n"
      "      2]\n"
      "empty:\n"
      "last: {a: 1}\n");
  ASSERT_TRUE(text) << text.error().reason;
  EXPECT_EQ(text->LineOf("name"), 1);
  EXPECT_EQ(text->LineOf("resources"), 2);
  EXPECT_EQ(text->LineOf("resources.cpus"), 3);
  EXPECT_EQ(text->LineOf("resources.memry"), 5);
  EXPECT_EQ(text->LineOf("command[0]"), 7);
  EXPECT_EQ(text->LineOf("command[1].x"), 8);
  EXPECT_EQ(text->LineOf("command[1].x[1]"), 9);
  EXPECT_EQ(text->LineOf("empty"), 10);
  EXPECT_EQ(text->LineOf("last.a"), 11);
  // What is not there is where it would be.
  EXPECT_EQ(text->LineOf("resources.disk.more"), 2);
  EXPECT_EQ(text->LineOf("command[7]"), 6);
  EXPECT_EQ(text->LineOf("nothing"), 1);
  EXPECT_EQ(text->LineOf(""), 1);
  EXPECT_EQ(text->LineOf("..[["), 1);
}

TEST(Yaml, ATemplateWithoutQuotesIsToldSo) {
  EXPECT_EQ(Json("name: a\n\n\ncommand: [render, {item}]\n"),
            "error: line 4: quote it: \"{item}\"");
  EXPECT_EQ(Json("command:\n  - {item.stem}\n"), "error: line 2: quote it: \"{item.stem}\"");
  EXPECT_EQ(Json("env:\n  A: {params.x}\n"), "error: line 2: quote it: \"{params.x}\"");
  EXPECT_EQ(Json("command: [a, {item}.png]\n"), "error: line 1: quote it: \"{item}.png\"");
  EXPECT_EQ(Json("command: [a, out/{item}]\n"), "error: line 1: quote it: \"out/{item}\"");
  EXPECT_EQ(Json("env:\n  A: {item}.png\n"), "error: line 2: quote it: \"{item}.png\"");
  EXPECT_EQ(Json("a: [\"x {item} y\", {index}.png]\n"), "error: line 1: quote it: \"{index}.png\"");
  // Objects that only look like it.
  EXPECT_EQ(Json("a: {item: }\n"), "error: line 1: quote it: \"{item}\"");
  EXPECT_EQ(Json("a: {item: 1}\n"), R"({"a":{"item":1}})");
  EXPECT_EQ(Json("a:\n  item:\n"), R"({"a":{"item":null}})");
  EXPECT_EQ(Json("a: {X}\n"), R"({"a":{"X":null}})");
}

TEST(Yaml, ATabIsNamed) {
  for (const char* yaml : {"a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "x: 1\n\ta: 1\n"}) {
    const std::string why = Json(yaml);
    EXPECT_NE(why.find(": a tab; YAML is indented with spaces"), std::string::npos) << why;
  }
}

TEST(Yaml, AReaderMaySetOtherLimits) {
  EXPECT_TRUE(ToJson("a: [1, 2]\n", {.bytes = 10, .nodes = 4}));
  EXPECT_EQ(ToJson("a: [1, 2]\n", {.bytes = 9}).error().reason, "more than 9 bytes");
  EXPECT_EQ(ToJson("a: [1, 2]\n", {.nodes = 3}).error().reason, "line 1: more than 3 values");
  const std::string large = "a: " + std::string(2 * kYamlBytes, 'x');
  EXPECT_FALSE(ToJson(large));
  EXPECT_TRUE(ToJson(large, {.bytes = 3 * kYamlBytes}));
}

TEST(Yaml, ANumberWithAZeroInFrontMayBeRefused) {
  const auto json = [](std::string_view yaml) {
    const auto text = ToJson(yaml, {.leading_zeros = false});
    return text ? text->json : text.error().reason;
  };
  EXPECT_EQ(json("a: 1\nb: 0644\n"),
            "line 2: the number 0644 is octal to some and decimal to others; write 0o... or no "
            "zero");
  EXPECT_EQ(json("a: [0, 10, 0.5, 0o644, \"0644\", 0644x]\n"),
            R"({"a":[0,10,0.5,420,"0644","0644x"]})");
}

TEST(Yaml, WhatHasNoJsonIsRefusedWithItsLine) {
  EXPECT_EQ(Json("a: 1\nb: 2\na: 3\n"), "error: line 3: 'a' is there twice; first in line 1");
  EXPECT_EQ(Json("a: {b: 1, \"b\": 2}\n"), "error: line 1: 'b' is there twice; first in line 1");
  EXPECT_EQ(Json("a: 1\n7.5: b\n"), "error: line 2: a name must be text; write \"7.5\"");
  EXPECT_EQ(Json("a: 1\n-7: b\n"), "error: line 2: a name must be text; write \"-7\"");
  EXPECT_EQ(Json("steps: {1: 2, 101: 3}\n"), R"({"steps":{"1":2,"101":3}})");
  EXPECT_EQ(Json("true: b\n"), "error: line 1: a name must be text; write \"true\"");
  EXPECT_EQ(Json("\n? [a]\n: b\n"),
            "error: line 2: a name must be text; if this is text, quote it");
  EXPECT_EQ(Json("a: {{item}}\n"), "error: line 1: a name must be text; if this is text, quote it");
  EXPECT_EQ(Json("~: b\n"), "error: line 1: a name must be text; if this is text, quote it");
  EXPECT_EQ(Json("a: .inf\n"), "error: line 1: .inf is no number here; quote it");
  EXPECT_EQ(Json("a: .nan\n"), "error: line 1: .nan is no number here; quote it");
  EXPECT_EQ(Json("a: 1e999\n"), "error: line 1: the number 1e999 is too large; quote it");
  EXPECT_EQ(Json("a: 18446744073709551616\n"),
            "error: line 1: the number 18446744073709551616 is too large; quote it");
  EXPECT_EQ(Json("a:\n  - !foo x\n"), "error: line 2: the tag '!foo' means nothing here");
  EXPECT_EQ(Json("a: !!binary aGk=\n"),
            "error: line 1: the tag 'tag:yaml.org,2002:binary' means nothing here");
  EXPECT_EQ(Json("a: 1\nb: \xff\n"), "error: line 2: not UTF-8");
  EXPECT_EQ(Json(std::string_view("a: 1\n\0", 6)), "error: line 2: not UTF-8");
  EXPECT_EQ(Json("a: \"\\0\"\n"), "error: line 1: a NUL in a text");
  EXPECT_EQ(Json("a: 1\n---\nb: 2\n"),
            "error: line 2: something begins anew here; one document only");
  EXPECT_EQ(Json("- a\nb: 1\n"), "error: line 2: something begins anew here; one document only");
  EXPECT_EQ(Json(""), "error: line 1: there is nothing in it");
  EXPECT_EQ(Json("# only this\n"), "error: line 1: there is nothing in it");
  EXPECT_EQ(Json("---\n"), "error: line 1: there is nothing in it");
}

TEST(Yaml, BadTextIsAnErrorWithALine) {
  for (const char* yaml : {"a: b: c",
                           "a: [1, 2",
                           "{a: 1",
                           "a: [1,\nb: 2\n",
                           "@a",
                           "a: `b`",
                           "a: \"\\q\"",
                           "a: *nope",
                           "a: |\n  x\n y\nb: 1\n",
                           "a: \"x",
                           "a: 'x",
                           "]",
                           "}",
                           "a: }",
                           "a: ]",
                           "a: &",
                           "a: *",
                           "%",
                           "%YAML 9",
                           "a: |99\n x",
                           "a: \"\\ud800\"",
                           "a: \"\\xg\"",
                           "!",
                           "a: !<",
                           "- - - [",
                           ": :",
                           "? ? ?",
                           "a:\n b\n c: d\n",
                           "\"a\" b: c",
                           "a: 'b' c",
                           "a: [b] c",
                           "&a &b c",
                           "[a] b"}) {
    const auto text = ToJson(yaml);
    if (text) {
      ADD_FAILURE() << yaml << " became " << text->json;
      continue;
    }
    EXPECT_TRUE(text.error().reason.starts_with("line ")) << yaml << ": " << text.error().reason;
  }
}

TEST(Yaml, AliasesAreFollowedWithinTheLimits) {
  EXPECT_EQ(Json("a: &x [1, 2]\nb: *x\n"), R"({"a":[1,2],"b":[1,2]})");
  EXPECT_EQ(Json("a: &x [*x]\n"), "error: line 1: nested deeper than 32");
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) laughs += before + (k < 9 ? " ," : " ]\n");
  }
  EXPECT_NE(Json(laughs).find("more than 10000 values"), std::string::npos) << Json(laughs);
  const std::string long_text = "a: &a " + std::string(60'000, 'x') + "\nb: [";
  std::string copies = long_text;
  for (int i = 0; i < 1000; ++i) copies += "*a ,";
  EXPECT_NE(Json(copies + "1]\n").find("too much text through aliases"), std::string::npos);
}

TEST(Yaml, SizeAndDepthAreBounded) {
  EXPECT_EQ(Json(std::string(kYamlBytes + 1, ' ')), "error: more than 65536 bytes");
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(Json(nested(32)), nested(32));
  EXPECT_EQ(Json(nested(33)), "error: line 1: nested deeper than 32");
  for (const char* unit : {"[", "{", "{a: ", "- ", "? ", "[{", "&a ", "!a ", "a: "}) {
    std::string deep;
    while (deep.size() + 8 < kYamlBytes) deep += unit;
    EXPECT_FALSE(ToJson(deep)) << unit;
  }
}

TEST(Yaml, NoBytesMakeItCrash) {
  const auto part = rc::gen::element<std::string>(
      "a", ": ", "\n", "  ", "- ", "[", "]", "{", "}", ",", "\"", "'", "#", "&x ", "*x", "!", "|",
      ">", "\t", "? ", "%", "---\n", "1", "~", "\\", "{item}", "\xc3\xbc", "\xff", "\r\n", "@");
  rc::check([&part] {
    std::string text;
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(part)) text += one;
    const auto json = ToJson(text);
    RC_ASSERT(json || !json.error().reason.empty());
  });
}

TEST(Yaml, Utf8IsToldFromOtherBytes) {
  EXPECT_EQ(FindNotUtf8("a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"), 10U);
  for (const char* text : {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80", "\xc3", "\xe2\x82"}) {
    EXPECT_EQ(FindNotUtf8(text), 0U);
  }
}

}  // namespace
}  // namespace tidemill
