// SPDX-License-Identifier: Apache-2.0
#include "cli/apply.h"

#include <string>

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

TEST(Apply, AFileIsReadWithItsComments) {
  const auto file = LoadSettings(
      "pools:\n"
      "  spot:  # cheap\n"
      "    provider: local\n"
      "    shape: {cpus: 4, memory: 16GiB}\n"
      "    steps: {1: 1, 101: 2}\n"
      "    idle: 2m\n"
      "queues:\n"
      "  night: {pools: [spot], limits: {cost_an_hour: 2.5}}\n",
      "tidemill.yaml");
  ASSERT_TRUE(file) << file.error().reason;
  EXPECT_EQ(file->pools.at("spot").machines.steps, (Steps{{1, 1}, {101, 2}}));
  EXPECT_EQ(file->pools.at("spot").machines.idle, std::chrono::minutes(2));
  EXPECT_EQ(file->queues.at("night").limits.cost_an_hour, Money{2'500'000});
}

TEST(Apply, WhatIsWrongIsToldWithItsLine) {
  const auto why = [](const char* yaml) { return LoadSettings(yaml, "t.yaml").error().reason; };
  EXPECT_EQ(why("pools:\n  spot:\n    shap: {}\n"),
            "t.yaml:3: unknown field 'shap' in pools.spot; did you mean 'shape'?");
  EXPECT_EQ(why("queues:\n  q:\n    pools: [a]\n    share: -1\n").substr(0, 27),
            "t.yaml:4: queues.q.share: m");
  EXPECT_EQ(why("pool: {}\n"), "t.yaml:1: unknown field 'pool'; did you mean 'pools'?");
  EXPECT_EQ(why("a: [\n").substr(0, 7), "t.yaml:");
}

}  // namespace
}  // namespace tidemill::cli
