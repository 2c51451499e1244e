// SPDX-License-Identifier: Apache-2.0
#include "cli/wishes.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;

Surroundings At(std::int64_t now_ms) {
  Surroundings around;
  around.now_ms = [now_ms] { return now_ms; };
  return around;
}

using Lines = std::vector<std::pair<std::string, std::string>>;

TEST(WishLines, SaysNothingOfAJobThatAskedForNothing) {
  Job job;
  EXPECT_EQ(WishLines(job, At(0)), Lines());
  job.spec.wishes.queue = "default";
  EXPECT_EQ(WishLines(job, At(0)), Lines());
}

TEST(WishLines, SaysAllThatIsSet) {
  Job job;
  job.owner = "anna\n";
  job.created_ms = 12 * kHourMs;
  job.spec.wishes = {.queue = "night",
                     .priority = -5,
                     .max_parallel = 1200,
                     .deadline = std::chrono::hours(6),
                     .budget = Money{20'500'000},
                     .labels = {{"arch", "amd64"}, {"zone", "a"}},
                     .after = {{7}, {9}}};
  EXPECT_EQ(WishLines(job, At(14 * kHourMs)), (Lines{{"queue", "night, priority -5"},
                                                     {"owner", "anna?"},
                                                     {"deadline", "18:00, in 4 h"},
                                                     {"budget", "$20.50"},
                                                     {"at most", "1,200 items at a time"},
                                                     {"labels", "arch=amd64 zone=a"},
                                                     {"after", "jobs 7, 9"}}));
}

}  // namespace
}  // namespace tidemill::cli
