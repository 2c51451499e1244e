// SPDX-License-Identifier: Apache-2.0
// What costs and why come back as they went, to the millionth.
#include "wire/cost_json.h"

#include <gtest/gtest.h>

#include "wire/why_json.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

JobCost ACost() {
  JobCost cost;
  cost.job = "render-7";
  cost.spent = {12'345'678'901};
  cost.lost = {2'100'001};
  cost.machine_time = seconds(86'400) + milliseconds(5);
  cost.lost_time = seconds(61);
  cost.items_done = 250'000;
  cost.cost_an_item = Money{49'382};
  cost.budget = Money{500'000'000};
  cost.deadline_ms = 1'777'636'985'007;
  cost.forecast = JobForecast{812,           seconds(7800), seconds(7080), seconds(9060),
                              {331'000'001}, {310'000'000}, {390'000'000}};
  cost.machines = {3, 2, 800, 7};
  cost.working = 799;
  return cost;
}

TEST(CostJson, AJobsCostComesBackAsItWent) {
  const auto back = ParseJobCost(FormatJobCost(ACost()));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(*back, ACost());
  JobCost nothing;
  nothing.job = "a-1";
  EXPECT_EQ(FormatJobCost(nothing),
            R"({"job":"a-1","spent":0,"lost":0,"machine_seconds":0,"lost_seconds":0,)"
            R"("items_done":0,"forecast":null,"machines_now":{"ordered":0,"booting":0,"joined":0,)"
            R"("draining":0},"machines_working":0})");
  EXPECT_EQ(*ParseJobCost(FormatJobCost(nothing)), nothing);
}

TEST(CostJson, DollarsAreExact) {
  JobCost cost;
  cost.job = "a-1";
  for (const std::int64_t micros : {1LL, 10LL, 999'999LL, 1'000'001LL, 1'234'567'890'123LL}) {
    cost.spent = {micros};
    EXPECT_EQ(ParseJobCost(FormatJobCost(cost))->spent.micros, micros);
  }
  cost.spent = {1};
  EXPECT_NE(FormatJobCost(cost).find(R"("spent":0.000001,)"), std::string::npos);
}

TEST(CostJson, FieldsOfNewerServersArePassedOverAndWrongOnesAreNot) {
  EXPECT_TRUE(ParseJobCost(R"({"job":"a-1","spent":1,"new":[]})"));
  EXPECT_FALSE(ParseJobCost(R"({"spent":1})"));
  EXPECT_FALSE(ParseJobCost(R"({"job":"a-1","spent":"1"})"));
  EXPECT_FALSE(ParseJobCost(R"({"job":"a-1","spent":1e300})"));
  EXPECT_FALSE(ParseJobCost(R"({"job":"a-1","forecast":7})"));
  EXPECT_FALSE(ParsePoolsNow(R"({"pools":[{"name":"a","now":7}]})"));
}

TEST(CostJson, AProjectsCostsAddUp) {
  const ProjectCosts costs{
      {5'000'000},
      {1'000'000},
      {2'000'000},
      {500'000},
      seconds(10),
      seconds(20),
      {{"a-1", {4'000'000}, {1'000'000}, seconds(3)}, {"b-2", {1'000'000}, {}, seconds(1)}}};
  EXPECT_EQ(FormatCosts(costs),
            R"({"total":7.5,"spent":5,"lost":1,"idle":2,"boot":0.5,"idle_seconds":10,)"
            R"("boot_seconds":20,"jobs":[{"job":"a-1","spent":4,"lost":1,"machine_seconds":3},)"
            R"({"job":"b-2","spent":1,"lost":0,"machine_seconds":1}]})");
}

TEST(WhyJson, ComesBackAsItWent) {
  const std::vector<WhyReason> reasons = {
      {"no_capacity", "spot", "pool 'spot': none", {{"tried", 6}, {"below", -1}}},
      {"after", "", "it begins when a-1 is over", {}}};
  const JobWhy job{"render-7", 3, 3200, reasons};
  const auto back = ParseJobWhy(FormatJobWhy(job));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(*back, job);
  const MachineWhy machine{"p/m-1", "p", "joined", 4, reasons};
  EXPECT_EQ(*ParseMachineWhy(FormatMachineWhy(machine)), machine);
}

TEST(WhyJson, WhatAProviderWroteIsOneLine) {
  const JobWhy job{
      "a-1", 0, 1, {{"no_capacity", "p", "none:\r\n\x1b[31m" + std::string(9000, 'x'), {}}}};
  const auto back = ParseJobWhy(FormatJobWhy(job));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_TRUE(back->reasons[0].sentence.starts_with("none:   [31mxxx"));
  EXPECT_LE(back->reasons[0].sentence.size(), 2000U);
  const std::string broken(3000, '\xff');
  EXPECT_TRUE(ParseJobWhy(FormatJobWhy({"a-1", 0, 1, {{"c", "p", broken, {}}}})));
}

}  // namespace
}  // namespace tidemill
