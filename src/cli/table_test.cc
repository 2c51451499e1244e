// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

TEST(Table, AlignsNumbersAtTheRightAndTextAtTheLeft) {
  EXPECT_EQ(FormatTable({{"JOB"}, {"ITEMS", true}, {"STATE"}},
                        {{"render-7", "250,000", "active"}, {"a-1", "1", "paused"}}, 80, false),
            "JOB         ITEMS  STATE\n"
            "render-7  250,000  active\n"
            "a-1             1  paused\n");
}

TEST(Table, CutsTheWidestColumnSoThatLinesFit) {
  const std::string text = FormatTable({{"ITEM", true}, {"TEXT"}},
                                       {{"1", std::string(200, 'x')}, {"2", "short"}}, 40, false);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(WidthOf(line), 40u) << line;
  EXPECT_NE(text.find("x…\n"), std::string::npos);
}

TEST(Table, ColoursDoNotChangeTheWidths) {
  const std::string text =
      FormatTable({{"A"}, {"B"}}, {{Cell("bad", Colour::kRed), "x"}}, 80, true);
  EXPECT_NE(text.find("\x1b[31mbad\x1b[0m  x\n"), std::string::npos) << text;
}

TEST(Spans, AreCutTogether) {
  EXPECT_EQ(FormatSpans({"abc", Cell("def", Colour::kRed)}, 5, true), "abc\x1b[31md…\x1b[0m");
  EXPECT_EQ(FormatSpans({"abc", "def", "ghi"}, 6, false), "abcdef");
}

}  // namespace
}  // namespace tidemill::cli
