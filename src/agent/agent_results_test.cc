// SPDX-License-Identifier: Apache-2.0
// What an outcome says beside its numbers: what a failure is known by, and what a program sent
// back.
#include "agent/agent_test.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

TEST_F(AgentTest, SaysWhatAFailureIsKnownBy) {
  play_.run = [](const ItemRun& run) {
    const auto has = [&](const char* index) {
      return std::find(run.env.begin(), run.env.end(), std::string("TIDEMILL_INDEX=") + index) !=
             run.env.end();
    };
    if (has("0")) return FakeRun{.exit = 1, .log = "reading\nerror: line 17 is bad\n"};
    if (has("1")) return FakeRun{.exit = 1, .log = "error: line 4711 is bad\n"};
    if (has("2")) return FakeRun{.exit = 3};
    return FakeRun{.log = "error: none\n"};
  };
  Grants(1, 0, 4);
  StartAgent();
  RunFor(seconds(20));
  ASSERT_EQ(link_.outcomes.size(), 4U);
  EXPECT_EQ(link_.outcomes[0].at(0).error, "error: line # is bad");
  EXPECT_EQ(link_.outcomes[1].at(0).error, "error: line # is bad");
  EXPECT_EQ(link_.outcomes[2].at(0).error, "exit code 3");
  EXPECT_EQ(link_.outcomes[3].at(0).error, "");
}

TEST_F(AgentTest, AnItemThatCouldNotRunSaysWhy) {
  play_.run = [](const ItemRun&) { return FakeRun{.ends_container = true}; };
  Grants(1, 0, 1);
  StartAgent();
  RunFor(seconds(30));
  ASSERT_EQ(link_.outcomes.size(), 1U);
  EXPECT_TRUE(link_.outcomes[0].back().error.starts_with("tidemill: its container ended under it"))
      << link_.outcomes[0].back().error;
}

TEST_F(AgentTest, HidesSecretsInErrorsAndInWhatProgramsSendBack) {
  link_.documents[JobId{1}] = R"({"command":["true"],"secrets":["TOKEN"],"mode":"loop"})";
  link_.secrets = {{"TOKEN", "hunter2!"}};
  play_.run = [](const ItemRun&) {
    return FakeRun{.exit = 1, .log = "error: hunter2! is wrong", .result = R"({"a":"hunter2!"})"};
  };
  Grants(1, 0, 2, {1});
  StartAgent();
  RunFor(seconds(20));
  ASSERT_EQ(link_.outcomes.size(), 2U);
  for (const auto& [item, outcomes] : link_.outcomes) {
    EXPECT_EQ(outcomes.at(0).error, "error: *** is wrong");
    EXPECT_EQ(outcomes.at(0).result, R"({"a":"***"})");
  }
}

}  // namespace
}  // namespace tidemill
