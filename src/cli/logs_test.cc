// SPDX-License-Identifier: Apache-2.0
#include "cli/logs.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

TEST(Logs, SayWhereSomethingIsMissing) {
  EXPECT_EQ(LogText({.text = "a\n"}), "a\n");
  EXPECT_EQ(LogText({.missing_bytes = 1200, .text = "a\n"}),
            "\n[tidemill: 1,200 bytes are missing here]\na\n");
  EXPECT_EQ(LogText({.missing_bytes = 7, .over_limit = true, .text = ""}),
            "\n[tidemill: 7 bytes are left out here: the log was too long]\n");
  EXPECT_NE(LogText({.lost_before = true, .text = "a"}).find("before may be missing]\na"),
            std::string::npos);
}

TEST(Logs, ATimeOfDayIsThatOfTheReader) {
  EXPECT_EQ(TimeOfDay(0, 0), "00:00:00");
  EXPECT_EQ(TimeOfDay((12 * 3600 + 3 * 60 + 44) * 1000, 0), "12:03:44");
  EXPECT_EQ(TimeOfDay(0, -3600), "23:00:00");
}

}  // namespace
}  // namespace tidemill::cli
