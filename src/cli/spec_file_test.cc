// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_file.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

std::string ErrorOf(std::string_view yaml, SpecEdits edits = {}) {
  const auto spec = LoadSpec(yaml, "render.yaml", std::move(edits));
  return spec ? "none" : spec.error().reason;
}

TEST(SpecFile, NamesTheLineOfAnUnknownField) {
  EXPECT_EQ(ErrorOf("name: a\nimage: b\ncommand: [x]\nresources:\n  cpus: 1\n  memry: 4GiB\n"),
            "render.yaml:6: unknown field 'memry' in resources; did you mean 'memory'?");
}

TEST(SpecFile, NamesTheLineOfWhatIsNoYaml) {
  EXPECT_TRUE(ErrorOf("name: a\ncommand: [x\n").starts_with("render.yaml:"))
      << ErrorOf("name: a\ncommand: [x\n");
}

TEST(SpecFile, TakesTheFilesNameIfTheSpecHasNone) {
  const auto spec = LoadSpec("command: [x]\n", "/some/where/render.yaml", {});
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->parsed.job.name, "render");
  const auto odd = LoadSpec("command: [x]\n", "my job!.yaml", {});
  ASSERT_TRUE(odd) << odd.error().reason;
  EXPECT_EQ(odd->parsed.job.name, "job");
}

TEST(SpecFile, AddsWhatTheCommandLineSays) {
  const auto spec =
      LoadSpec("name: a\ncommand: [x, '{params.size}']\nparams: {size: 3}\nenv: {A: b}\n",
               "render.yaml", {.name = "other", .env = {{"C", "d"}}, .params = {{"size", "9"}}});
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->parsed.job.name, "other");
  EXPECT_EQ(spec->parsed.run.params.at("size"), "9");
  EXPECT_EQ(spec->parsed.run.env.at("A"), "b");
  EXPECT_EQ(spec->parsed.run.env.at("C"), "d");
}

TEST(SpecFile, BlamesTheFlagsAndNotALineForWhatTheySay) {
  const std::string yaml = "name: a\ncommand: [x]\nparams: {size: 3}\n";
  EXPECT_EQ(ErrorOf(yaml, {.name = "", .env = {}, .params = {{"sice", "9"}}}),
            "unknown param 'sice'; did you mean 'size'?");
  const std::string bad = ErrorOf(yaml, {.name = "", .env = {{"1A", "x"}}, .params = {}});
  EXPECT_EQ(bad.find("render.yaml"), std::string::npos) << bad;
  EXPECT_NE(bad.find("1A"), std::string::npos) << bad;
}

TEST(SpecFile, HasExamplesThatAreGoodSpecs) {
  const Example* const hello = FindExample("hello");
  ASSERT_NE(hello, nullptr);
  const auto spec = LoadSpec(hello->yaml, "hello", {});
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->parsed.job.name, "hello");
  EXPECT_EQ(hello->items, 100);
  EXPECT_EQ(FindExample("helo"), nullptr);
}

TEST(SpecFile, SplitsPairsAtTheFirstSign) {
  EXPECT_EQ(*SplitPair("A=b=c"), (std::pair<std::string, std::string>("A", "b=c")));
  EXPECT_EQ(*SplitPair("A="), (std::pair<std::string, std::string>("A", "")));
  EXPECT_FALSE(SplitPair("A"));
  EXPECT_FALSE(SplitPair("=b"));
}

}  // namespace
}  // namespace tidemill::cli
