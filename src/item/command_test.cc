// SPDX-License-Identifier: Apache-2.0
#include "item/command.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "item/path.h"
#include "wire/item_field.h"

namespace tidemill {
namespace {

using Texts = std::vector<std::string>;

ItemFacts Scene() {
  return {
      .text = "scenes/a.b.blend", .index = 4711, .count = 250'000, .job = "render-7", .attempt = 2};
}

RunSpec WithCommand(Texts command) {
  RunSpec spec;
  spec.command = std::move(command);
  return spec;
}

Result<ItemCommand> CommandFor(const RunSpec& spec, const ItemFacts& facts) {
  TIDEMILL_TRY(const CommandPlan plan, CommandPlan::Of(spec));
  return plan.For(facts, ItemField);
}

// The one argument that a text becomes, or what is wrong with it.
std::string Expand(const std::string& text, const ItemFacts& facts) {
  const auto run = CommandFor(WithCommand({text}), facts);
  return run ? run->command->front() : "error: " + run.error().reason;
}

std::string Expand(const std::string& text, const std::string& item) {
  ItemFacts facts = Scene();
  facts.text = item;
  return Expand(text, facts);
}

TEST(Command, IsFilledInForTheItem) {
  RunSpec spec = WithCommand({"--in={item}", "{item.stem}.png", "{index}/{count}", "{params.q}!"});
  spec.entrypoint = {"render-{job}", "{attempt}"};
  spec.params = {{"q", "high {item}"}};
  spec.env = {{"A", "x{params.q}"}, {"OUT", "{item.name}"}};
  const auto run = CommandFor(spec, Scene());
  ASSERT_TRUE(run) << run.error().reason;
  EXPECT_EQ(*run->entrypoint, (Texts{"render-render-7", "2"}));
  EXPECT_EQ(*run->command,
            (Texts{"--in=scenes/a.b.blend", "a.b.png", "4711/250000", "high {item}!"}));
  EXPECT_EQ(run->env, (Texts{"A=xhigh {item}", "OUT=a.b.blend", "TIDEMILL_ITEM=scenes/a.b.blend",
                             "TIDEMILL_INDEX=4711", "TIDEMILL_COUNT=250000",
                             "TIDEMILL_JOB=render-7", "TIDEMILL_ATTEMPT=2"}));
}

TEST(Command, WhatTheSpecLeavesToTheImageStaysSo) {
  const auto run = CommandFor({}, Scene());
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->entrypoint);
  EXPECT_FALSE(run->command);
  EXPECT_EQ(run->env.size(), 5U);
  RunSpec spec = WithCommand({"a"});
  spec.entrypoint = Texts{};
  EXPECT_EQ(CommandFor(spec, Scene())->entrypoint, Texts{});
}

TEST(Command, AnItemOfABareRangeIsItsNumber) {
  ItemFacts facts = Scene();
  facts.text = "";
  const auto run = CommandFor(WithCommand({"{item}", "{item.stem}"}), facts);
  ASSERT_TRUE(run);
  EXPECT_EQ(*run->command, (Texts{"4711", "4711"}));
  EXPECT_EQ(run->env.front(), "TIDEMILL_ITEM=4711");
}

TEST(Command, FieldsOfAJsonItemAreFilledIn) {
  const std::string item = R"({"name": "a b", "n": 1.5, "on": true, "cam": {"id": [1, "x"]}})";
  EXPECT_EQ(Expand("{item.name}", item), "a b");
  EXPECT_EQ(Expand("{item.n}/{item.on}", item), "1.5/true");
  EXPECT_EQ(Expand("{item.cam.id}", item), R"([1,"x"])");
  EXPECT_EQ(Expand("{item}", item), item);
  EXPECT_EQ(Expand("{item.stem}", item), "error: {item.stem}: the item has no field 'stem'");
  EXPECT_EQ(Expand("{item.name}", "  " + item), "a b");
  EXPECT_TRUE(Expand("{item.name}", "{broken").starts_with("error: {item.name}: the item is not"));
}

TEST(Command, AFieldThatNoPathHasIsAnErrorOfTheItem) {
  EXPECT_EQ(Expand("{item.frame}", "a/b"),
            "error: {item.frame}: the item is not a JSON object, and a path has only name, stem, "
            "ext and dir");
}

TEST(Command, ANulIsNeverPassedOn) {
  EXPECT_NE(Expand("x", std::string("a\0b", 3)).find("NUL"), std::string::npos);
  EXPECT_NE(Expand("{item.a}", R"({"a":"\u0000"})").find("NUL"), std::string::npos);
}

TEST(Command, NothingLongerThanLinuxTakesIsMade) {
  const std::string item(64 * 1024, 'x');
  EXPECT_EQ(Expand("{item}{item}", item),
            "error: an argument or variable of the item has more than 131071 bytes");
  Texts many(20, "{item}");
  ItemFacts facts = Scene();
  facts.text = item;
  const auto run = CommandFor(WithCommand(many), facts);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().reason, "the command of the item has more than 1048576 bytes");
}

TEST(Command, ATemplateThatStandsForNothingIsFoundBeforeAnyItemRuns) {
  EXPECT_EQ(CommandPlan::Of(WithCommand({"{itme}"})).error().reason, "unknown template '{itme}'");
  EXPECT_EQ(CommandPlan::Of(WithCommand({"{params.x}"})).error().reason, "unknown param 'x'");
  RunSpec spec;
  spec.env = {{"A", "{nothing}"}};
  EXPECT_FALSE(CommandPlan::Of(spec));
}

TEST(Command, TextWithoutTemplatesComesBackAsItIs) {
  rc::check([](std::string text) {
    std::erase_if(text, [](char c) { return c == '{'; });
    RC_ASSERT(Expand(text, Scene()) == text);
  });
}

TEST(Command, WhatAnItemHoldsIsNeverReadAsATemplate) {
  for (const char* item : {"{index}", "{{item}}", "${item}", "{params.x}", "$(reboot)", "{"}) {
    EXPECT_EQ(Expand("-{item}-", item), "-" + std::string(item) + "-");
  }
}

std::string Parts(std::string_view path) {
  std::string out;
  for (const char* part : {"dir", "name", "stem", "ext"}) {
    out.append(out.empty() ? "" : "|").append(PathPart(path, part).value_or("?"));
  }
  return out;
}

TEST(Path, IsTakenApart) {
  EXPECT_EQ(Parts("a/b/c.tar.gz"), "a/b|c.tar.gz|c.tar|gz");
  EXPECT_EQ(Parts("c"), ".|c|c|");
  EXPECT_EQ(Parts("/c.x"), "/|c.x|c|x");
  EXPECT_EQ(Parts("a/b/"), "a|b|b|");
  EXPECT_EQ(Parts("a//b"), "a|b|b|");
  EXPECT_EQ(Parts(".profile"), ".|.profile|.profile|");
  EXPECT_EQ(Parts("a.b/.."), "a.b|..|..|");
  EXPECT_EQ(Parts("a."), ".|a.|a|");
  EXPECT_EQ(Parts("s3://bucket/scene 1.blend"), "s3://bucket|scene 1.blend|scene 1|blend");
  EXPECT_EQ(Parts("/"), "/|||");
  EXPECT_FALSE(PathPart("a", "nme"));
}

TEST(Command, TheProgramOfALoopIsNoItems) {
  RunSpec spec;
  spec.command = {"serve", "--job", "{job}", "{params.model}"};
  spec.env = {{"MODEL", "{params.model}"}};
  spec.params = {{"model", "large"}};
  const auto program = CommandPlan::Of(spec)->ForLoop("render-7", 100);
  ASSERT_TRUE(program);
  EXPECT_EQ(*program->command, (std::vector<std::string>{"serve", "--job", "render-7", "large"}));
  EXPECT_EQ(program->env, (std::vector<std::string>{"MODEL=large", "TIDEMILL_COUNT=100",
                                                    "TIDEMILL_JOB=render-7"}));
  for (const char* of_an_item : {"{item}", "{item.name}", "{index}", "{attempt}"}) {
    RunSpec wrong = spec;
    wrong.env["X"] = of_an_item;
    EXPECT_FALSE(CommandPlan::Of(wrong)->ForLoop("render-7", 100)) << of_an_item;
    wrong = spec;
    wrong.command->push_back(of_an_item);
    EXPECT_FALSE(CommandPlan::Of(wrong)->ForLoop("render-7", 100)) << of_an_item;
  }
}

}  // namespace
}  // namespace tidemill
