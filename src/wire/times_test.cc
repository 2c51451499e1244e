// SPDX-License-Identifier: Apache-2.0
#include "wire/times.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TimesTest : public testing::Test {
 protected:
  Result<void> Set(std::string_view text) {
    return SetTimes(text, "agent", {{"fault_rest", &fault_rest_}, {"tick", &tick_}});
  }

  Duration fault_rest_ = seconds(60);
  Duration tick_ = seconds(1);
};

TEST_F(TimesTest, SetsNamedTimesAndLeavesTheOthers) {
  ASSERT_TRUE(Set(""));
  EXPECT_EQ(fault_rest_, seconds(60));
  ASSERT_TRUE(Set("agent.fault_rest=500ms"));
  EXPECT_EQ(fault_rest_, milliseconds(500));
  EXPECT_EQ(tick_, seconds(1));
  ASSERT_TRUE(Set("agent.fault_rest=1m30s,agent.tick=20ms"));
  EXPECT_EQ(fault_rest_, seconds(90));
  EXPECT_EQ(tick_, milliseconds(20));
}

TEST_F(TimesTest, IgnoresTimesOfOtherPrograms) {
  ASSERT_TRUE(Set("server.anything=1s,agent.tick=2s"));
  EXPECT_EQ(tick_, seconds(2));
}

TEST_F(TimesTest, RejectsWhatItDoesNotUnderstandAndChangesNothing) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"agent.fault_rst=1s", "'agent.fault_rst=1s': there is no such time"},
      {"agent.tick=1s,agent.fault_rst=1s", "there is no such time"},
      {"server.tick=x", "positive duration"},
      {"agent.tick=0s", "positive duration"},
      {"agent.tick=-1s", "positive duration"},
      {"agent.tick=", "positive duration"},
      {"agent.tick", "write it as agent.device_rest=500ms"},
      {"tick=1s", "write it as"},
      {"agent.tick=1s,,", "write it as"},
      {"client.tick=1s", "must be agent or server"},
  };
  for (const auto& [text, why] : wrong) {
    const auto set = Set(text);
    ASSERT_FALSE(set) << text;
    EXPECT_EQ(set.error().code, Code::kInvalid);
    EXPECT_NE(set.error().reason.find(why), std::string::npos) << set.error().reason;
    EXPECT_NE(set.error().reason.find("TIDEMILL_TIMES"), std::string::npos);
    EXPECT_EQ(tick_, seconds(1)) << text;
    EXPECT_EQ(fault_rest_, seconds(60)) << text;
  }
}

}  // namespace
}  // namespace tidemill
