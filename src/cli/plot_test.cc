// SPDX-License-Identifier: Apache-2.0
#include "cli/plot.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

TEST(Plot, DrawsWhatWasThereUntilTheNextPoint) {
  const std::string text =
      PlotText({{0, 0}, {2000, 4}, {4000, 8}, {6000, 8}, {8000, 0}}, {.width = 11, .rows = 2});
  EXPECT_EQ(text,
            "8 ┤    ████\n"
            "  ┤  ██████\n"
            "0 └────────\n"
            "   0    8 s\n");
}

TEST(Plot, NoLineIsWiderThanAskedFor) {
  std::vector<std::pair<std::int64_t, std::int64_t>> points;
  for (int i = 0; i < 1000; ++i) points.emplace_back(i * 12'000, i % 2000);
  std::istringstream lines(PlotText(points, {.width = 60, .rows = 8}));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(WidthOf(line), 60) << line;
  EXPECT_EQ(count, 10);
}

TEST(Plot, OfOneMomentThereIsNothingToDraw) {
  EXPECT_EQ(PlotText({}, {}), "");
  EXPECT_EQ(PlotText({{5, 1}}, {}), "");
  EXPECT_EQ(PlotText({{5, 1}, {5, 2}}, {}), "");
}

}  // namespace
}  // namespace tidemill::cli
