// SPDX-License-Identifier: Apache-2.0
#include "cli/why.h"

#include <gtest/gtest.h>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

const std::vector<WhyReason> kReasons = {
    {"no_capacity",
     "spot",
     "pool 'spot': the provider has no capacity: 'InsufficientInstanceCapacity in us-east-1a', "
     "tried 6 times, again in 2 min; add kinds of machines, or another pool",
     {{"tried", 6}}},
    {"price_cap",
     "ondemand",
     "pool 'ondemand' costs $0.34 an hour, its max_price allows $0.20; wait, or raise max_price",
     {}}};

TEST(Why, IsASentenceEach) {
  EXPECT_EQ(WhyText(JobWhy{"render-7", 0, 3200, kReasons}, 100),
            "render-7 is running 0 of 3,200 items it could run:\n"
            "  pool 'spot': the provider has no capacity: 'InsufficientInstanceCapacity in "
            "us-east-1a', tried 6\n"
            "    times, again in 2 min; add kinds of machines, or another pool\n"
            "  pool 'ondemand' costs $0.34 an hour, its max_price allows $0.20; wait, or raise "
            "max_price\n");
}

TEST(Why, SaysWhatThereIsToRun) {
  const auto head = [](std::int64_t running, std::int64_t could_run) {
    const std::string text = WhyText(JobWhy{"a-1", running, could_run, {}}, 100);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(head(0, 0), "a-1 has nothing to run now:");
  EXPECT_EQ(head(1, 1), "a-1 is running all 1 item it could run:");
  EXPECT_EQ(head(4, 9), "a-1 is running 4 of 9 items it could run:");
}

TEST(Why, OfAMachine) {
  EXPECT_EQ(WhyText(MachineWhy{"spot-0",
                               "spot",
                               "booting",
                               0,
                               {{"machine_booting", "spot", "it has been booting for 40 s", {}}}},
                    100),
            "spot-0 of pool spot is booting and runs 0 items:\n"
            "  it has been booting for 40 s\n");
}

TEST(Why, NoLineIsWider) {
  for (std::size_t width = 40; width <= 120; ++width) {
    const std::string text = WhyText(JobWhy{"render-7", 0, 3200, kReasons}, width);
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_LE(WidthOf(text.substr(begin, end - begin)), width);
      begin = end + 1;
    }
  }
}

TEST(Why, AProviderCannotPaintTheTerminal) {
  const std::string text = WhyText(JobWhy{"a-1", 0, 1, {{"c", "", "x\x1b[31my", {}}}}, 100);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tidemill::cli
