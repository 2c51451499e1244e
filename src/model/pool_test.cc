// SPDX-License-Identifier: Apache-2.0
#include "model/pool.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Pool, LabelsAndStepsAsTextAndBack) {
  const Labels labels{{"type", "c6i"}, {"zone", "a=b c"}, {"empty", ""}};
  EXPECT_EQ(FormatLabels(labels), "empty=\ntype=c6i\nzone=a=b c\n");
  EXPECT_EQ(ParseLabels(FormatLabels(labels)), labels);
  const Steps steps{{1, 1}, {101, 2}};
  EXPECT_EQ(FormatSteps(steps), "1:1 101:2");
  EXPECT_EQ(ParseSteps(FormatSteps(steps)), steps);
  EXPECT_EQ(FormatLabels({}), "");
  EXPECT_TRUE(ParseLabels("").empty());
  EXPECT_TRUE(ParseSteps("").empty());
  EXPECT_TRUE(ParseSteps("a:1 2: :3 4").empty());
}

TEST(Pool, UnitsHaveNames) {
  for (const SizeUnit unit : {SizeUnit::kMachines, SizeUnit::kVcpus}) {
    EXPECT_EQ(ParseSizeUnit(SizeUnitName(unit)), unit);
  }
  EXPECT_FALSE(ParseSizeUnit("cores"));
}

}  // namespace
}  // namespace tidemill
