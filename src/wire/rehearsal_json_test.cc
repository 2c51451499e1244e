// SPDX-License-Identifier: Apache-2.0
#include "wire/rehearsal_json.h"

#include <gtest/gtest.h>

#include "wire/json.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

Rehearsed RunOf(int time_s, std::int64_t cost) {
  Rehearsed run;
  run.seed = 7;
  run.succeeded = 10;
  run.time = seconds(time_s);
  run.work = {seconds(80), Money{cost}};
  run.idle = {seconds(20), Money{5}};
  run.boot = {seconds(60), Money{15}};
  run.useful = seconds(75);
  run.ideal = seconds(100);
  run.moments = {{seconds(0), 1, 0, 0}, {seconds(60), 1, 1, 10}};
  return run;
}

TEST(RehearsalJson, HasTheRangeAndEachRun) {
  const auto json =
      json::Parse(FormatRehearsals({RunOf(120, 100), RunOf(110, 300), RunOf(130, 1)}));
  ASSERT_TRUE(json) << json.error().reason;
  EXPECT_EQ((*json)["seconds"]["least"], 110);
  EXPECT_EQ((*json)["seconds"]["median"], 120);
  EXPECT_EQ((*json)["seconds"]["most"], 130);
  ASSERT_EQ((*json)["runs"].size(), 3);
  const auto& run = (*json)["runs"][0];
  EXPECT_EQ(run["cost"], 0.00012);
  EXPECT_EQ(run["boot"]["machine_seconds"], 60);
  EXPECT_EQ(run["useful"], 0.75);
  EXPECT_EQ(run["over_time"][1]["done"], 10);
}

TEST(RehearsalJson, OfASpecOnlyWhatCanBePlayedIsKept) {
  const auto played = PlayedSpec(
      R"({"image":"a","code":"./src","input":"s3://b/{item}","retries":2,"timeout":"5m"})");
  ASSERT_TRUE(played);
  EXPECT_EQ(*played, R"({"retries":2,"timeout":"5m"})");
  EXPECT_FALSE(PlayedSpec("nothing"));
}

TEST(RehearsalJson, WhatIsUsefulIsCountedAfterJoining) {
  const Rehearsed run = RunOf(120, 100);
  EXPECT_DOUBLE_EQ(run.useful_part(), 0.75);  // boot does not count
  EXPECT_DOUBLE_EQ(run.times_ideal(), 1.2);
  EXPECT_DOUBLE_EQ(Rehearsed{}.useful_part(), 0);
}

}  // namespace
}  // namespace tidemill
