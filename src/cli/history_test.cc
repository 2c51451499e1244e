// SPDX-License-Identifier: Apache-2.0
#include "cli/history.h"

#include <gtest/gtest.h>

#include "wire/outcome_json.h"

namespace tidemill::cli {
namespace {

OutcomeRow HistoryRow(std::int64_t item, Cause cause, bool last) {
  OutcomeRow row;
  row.outcome.item = item;
  row.outcome.cause = cause;
  row.outcome.exit = cause == Cause::kSucceeded ? 0 : 3;
  row.outcome.start_ms = 1'000'000 + item * 1000;
  row.outcome.duration_ms = 500;
  row.outcome.cpu_ms = 400;
  row.last = last;
  return row;
}

TEST(HistoryTest, AddsUpTheLastWordOfEachItemAndAllAttempts) {
  std::string lines;
  for (const OutcomeRow& row :
       {HistoryRow(0, Cause::kSucceeded, true), HistoryRow(1, Cause::kFailed, false),
        HistoryRow(1, Cause::kSucceeded, true), HistoryRow(2, Cause::kTimeout, true)}) {
    AppendOutcomeRow(lines, row);
    lines.push_back('\n');
  }
  HistorySums sums;
  ASSERT_TRUE(ReadRows(lines, [&](OutcomeRow&& row) -> Result<void> {
    sums.Add(row);
    return {};
  }));
  EXPECT_EQ(sums.attempts, 4);
  EXPECT_EQ(sums.succeeded, 2);
  EXPECT_EQ(sums.failed, 1);
  EXPECT_EQ(sums.first_ms, 1'000'000);
  EXPECT_EQ(sums.last_ms, 1'002'500);
  EXPECT_EQ(sums.cpu_ms, 1600);
  EXPECT_EQ(sums.failures.Finish().groups.at(0).key.signature, "timeout");
  EXPECT_EQ(HistoryJson("{\"x\":1}", sums).substr(0, 41),
            "{\"job\":{\"x\":1},\"attempts\":4,\"succeeded\":2");
}

TEST(HistoryTest, ALineThatIsNoRowIsAnError) {
  EXPECT_FALSE(ReadRows("{}\n", [](OutcomeRow&&) { return Result<void>(); }));
  EXPECT_FALSE(ReadRows("x", [](OutcomeRow&&) { return Result<void>(); }));
  EXPECT_TRUE(ReadRows("", [](OutcomeRow&&) { return Result<void>(); }));
}

}  // namespace
}  // namespace tidemill::cli
