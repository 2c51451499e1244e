// SPDX-License-Identifier: Apache-2.0
#include "item/data_plan.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tidemill {
namespace {

const FieldReader kNoFields = [](std::string_view, std::string_view) -> Result<std::string> {
  return Fail(Code::kInvalid, "has no fields");
};

RunSpec Spec() {
  RunSpec spec;
  spec.params["set"] = "train";
  spec.inputs = {{"", "{item}"}};
  spec.outputs = {{"", DataOutput::Kind::kFile, "s3://out/{params.set}/{item.stem}.png", ""}};
  return spec;
}

ItemFacts Item(const std::string& text) {
  ItemFacts facts;
  facts.text = text;
  facts.index = 7;
  facts.job = "render-7";
  return facts;
}

TEST(DataPlan, MakesTheUrlsOfAnItem) {
  const DataPlan plan = DataPlan::Of(Spec()).value();
  const DataWork work = plan.For(Item("s3://in/cats/tom.jpg"), kNoFields).value();
  EXPECT_EQ(work.inputs[0].url, "s3://in/cats/tom.jpg");
  EXPECT_EQ(work.outputs[0].url, "s3://out/train/tom.png");
}

TEST(DataPlan, KnowsWhatAJobHas) {
  EXPECT_TRUE(DataPlan::Of(RunSpec())->empty());
  const DataPlan plan = DataPlan::Of(Spec()).value();
  EXPECT_FALSE(plan.empty());
  EXPECT_TRUE(plan.has_outputs());
  EXPECT_FALSE(plan.skips_existing());
}

TEST(DataPlan, RefusesAnItemThatLeavesTheFolder) {
  RunSpec spec = Spec();
  spec.inputs = {};
  spec.outputs[0].url = "s3://out/{item}/x.png";
  const DataPlan plan = DataPlan::Of(spec).value();
  EXPECT_TRUE(plan.For(Item("a/b"), kNoFields));
  for (const char* text : {"../b", "a/../..", ".", "..", "a//b", "/a", "a/", "a\nb", "a/./b"}) {
    EXPECT_FALSE(plan.For(Item(text), kNoFields)) << text;
  }
}

// Whatever an item is made of, an accepted URL stays below what stands before it.
TEST(DataPlan, NoItemLeavesThePrefix) {
  SeededRandom random(7);
  const std::string letters = "./a%\\ ~:?#";
  int accepted = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    std::string name;
    for (std::uint64_t n = random.Below(9); n > 0; --n)
      name += letters[random.Below(letters.size())];
    name += "x";
    if (!CheckDataUrl("s3://bucket/prefix/" + name)) continue;
    ++accepted;
    int depth = 0;
    std::string_view rest = name;
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      if (part == "..")
        --depth;
      else if (!part.empty() && part != ".")
        ++depth;
      ASSERT_GE(depth, 0) << name;
    }
  }
  EXPECT_GT(accepted, 100'000);
}

}  // namespace
}  // namespace tidemill
