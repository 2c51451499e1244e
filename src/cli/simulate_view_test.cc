// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_view.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

Rehearsed RunOf(Duration time, std::int64_t dollars) {
  Rehearsed run;
  run.succeeded = 10;
  run.time = time;
  run.ideal = hours(2);
  run.work = {hours(9), Money{dollars * 1'000'000}};
  run.idle = {hours(1), Money{}};
  run.useful = hours(8);
  run.most_machines = 4;
  run.moments = {{minutes(0), 4, 0, 0}, {minutes(60), 4, 4, 5}, {minutes(120), 0, 0, 10}};
  return run;
}

TEST(SimulateView, OneRunHasNoRange) {
  const std::string text = RehearsalText({RunOf(hours(3), 7)}, 100, false);
  EXPECT_NE(text.find("3 h"), std::string::npos) << text;
  EXPECT_NE(text.find("$7.00"), std::string::npos) << text;
  EXPECT_NE(text.find("1.50"), std::string::npos) << text;
  EXPECT_NE(text.find("80.0 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("MEDIAN"), std::string::npos) << text;
  EXPECT_EQ(text.find("failed"), std::string::npos) << text;
  EXPECT_NE(text.find("machines over time"), std::string::npos) << text;
}

TEST(SimulateView, SeveralRunsHaveTheMiddleOneFirst) {
  std::vector<Rehearsed> runs = {RunOf(hours(5), 9), RunOf(hours(3), 7), RunOf(hours(4), 8)};
  runs[0].failed = 2;
  const std::string text = RehearsalText(runs, 100, false);
  std::istringstream lines(text);
  std::string titles;
  std::string time;
  std::getline(lines, titles);
  std::getline(lines, time);
  EXPECT_LT(titles.find("MEDIAN"), titles.find("LEAST"));
  EXPECT_LT(titles.find("LEAST"), titles.find("MOST"));
  EXPECT_LT(time.find("4 h"), time.find("3 h")) << time;
  EXPECT_LT(time.find("3 h"), time.find("5 h")) << time;
  EXPECT_NE(text.find("failed items"), std::string::npos);
  EXPECT_EQ(MiddleOf(runs).time, hours(4));
}

TEST(SimulateView, WithoutPricesThereAreNoDollars) {
  EXPECT_EQ(RehearsalText({RunOf(hours(3), 0)}, 100, false).find('$'), std::string::npos);
}

TEST(SimulateView, FitsTheWidth) {
  std::istringstream lines(RehearsalText({RunOf(hours(3), 7), RunOf(hours(4), 8)}, 40, false));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(WidthOf(line), 40) << line;
}

}  // namespace
}  // namespace tidemill::cli
