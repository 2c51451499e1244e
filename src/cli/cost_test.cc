// SPDX-License-Identifier: Apache-2.0
#include "cli/cost.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;
using std::chrono::minutes;

JobCost ACost() {
  JobCost cost;
  cost.job = "render-7";
  cost.spent = {184'120'000};
  cost.lost = {2'100'000};
  cost.items_done = 148'210;
  cost.cost_an_item = Money{1'242};
  cost.forecast = JobForecast{3200,          minutes(130),  minutes(118), minutes(151),
                              {331'000'000}, {310'000'000}, {390'000'000}};
  cost.machines = {0, 3, 812, 1};
  cost.working = 809;
  return cost;
}

TEST(CostLines, SaysWhatItCostsAndWhatIsToCome) {
  EXPECT_EQ(
      CostLines(ACost()),
      (Lines{
          {"cost", "$184.12 so far, $0.0012 an item, $2.10 lost to interruptions"},
          {"forecast",
           "2 h 10 min left (1 h 58 min to 2 h 31 min), $331.00 by the end ($310.00 to $390.00)"},
          {"machines", "809 work for it; its pools have 3 booting, 812 joined, 1 draining"}}));
}

TEST(CostLines, SaysNothingWhereThereIsNothingToSay) {
  JobCost cost;
  cost.items_done = 4;
  cost.cost_an_item = Money{};
  EXPECT_EQ(CostLines(cost), Lines());
}

TEST(CostLines, MachinesWithoutAPriceHaveNoDollars) {
  JobCost cost = ACost();
  cost.spent = cost.lost = {};
  cost.cost_an_item = Money{};
  cost.forecast->cost = cost.forecast->cost_least = cost.forecast->cost_most = {};
  cost.machines = {0, 0, 1, 0};
  cost.working = 1;
  EXPECT_EQ(CostLines(cost), (Lines{{"forecast", "2 h 10 min left (1 h 58 min to 2 h 31 min)"},
                                    {"machines", "1 works for it; its pools have 1 joined"}}));
}

}  // namespace
}  // namespace tidemill::cli
