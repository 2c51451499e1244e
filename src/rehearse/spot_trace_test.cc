// SPDX-License-Identifier: Apache-2.0
#include "rehearse/spot_trace.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SpotTrace, IsReadWithAndWithoutPools) {
  const auto plain = ParseSpotTrace("seconds,machines\r\n60,3\r\n90.5,1\r\n");
  ASSERT_TRUE(plain) << plain.error().reason;
  const std::vector<SpotLoss> two = {{seconds(60), 3, ""}, {milliseconds(90'500), 1, ""}};
  EXPECT_EQ(*plain, two);
  const auto named = ParseSpotTrace("seconds,machines,pool\n60,3,spot\n60,1,");
  ASSERT_TRUE(named) << named.error().reason;
  EXPECT_EQ((*named)[0].pool, "spot");
  EXPECT_EQ((*named)[1].pool, "");
}

TEST(SpotTrace, SaysWhichLineIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"60,3\n", "line 1"},
      {"seconds,machines\n60,3\nx,3\n", "line 3"},
      {"seconds,machines\n60,0\n", "line 2"},
      {"seconds,machines\n60,3,spot\n", "line 2"},
      {"seconds,machines\n60,3\n59,3\n", "sort the trace"},
      {"seconds,machines\n-1,3\n", "line 2"},
      {"seconds,machines\n", "no machine"},
      {"", "no machine"},
  };
  for (const auto& [text, words] : cases) {
    const auto read = ParseSpotTrace(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().reason.find(words), std::string::npos) << read.error().reason;
  }
}

TEST(SpotTrace, ARateIsAPartInAnHour) {
  EXPECT_DOUBLE_EQ(*ParseInterruptions("5%/h"), 0.05);
  EXPECT_DOUBLE_EQ(*ParseInterruptions("0.5%/h"), 0.005);
  EXPECT_DOUBLE_EQ(*ParseInterruptions("0%/h"), 0);
  for (const char* text : {"", "5", "5%", "101%/h", "-1%/h", "x%/h"}) {
    EXPECT_FALSE(ParseInterruptions(text)) << text;
  }
}

}  // namespace
}  // namespace tidemill
