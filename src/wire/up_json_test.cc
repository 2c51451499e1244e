// SPDX-License-Identifier: Apache-2.0
#include "wire/up_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(UpJson, ReadsWhatItWrote) {
  const auto file =
      ParseUp(FormatUp({"http://127.0.0.1:4", 77, "/a \"b\"/agent", "/token", "/ca.pem"}));
  ASSERT_TRUE(file) << file.error().reason;
  EXPECT_EQ(file->server, "http://127.0.0.1:4");
  EXPECT_EQ(file->pid, 77);
  EXPECT_EQ(file->agent_state, "/a \"b\"/agent");
  EXPECT_EQ(file->ca, "/ca.pem");
  EXPECT_EQ(file->token_file, "/token");
  EXPECT_FALSE(ParseUp(""));
  EXPECT_FALSE(ParseUp("{}"));
}

TEST(UpJson, FindsTheEventThatTheAgentIsReady) {
  const auto ready = ParseAgentReady(
      R"({"at":"x","level":"info","event":"agent.ready","machine":"m","cpus":8,"memory":1024,)"
      R"("engine":"docker 27.1"})");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->machine, "m");
  EXPECT_EQ(ready->cpus, "8");
  EXPECT_EQ(ready->memory_bytes, 1024);
  EXPECT_EQ(ready->engine, "docker 27.1");
  EXPECT_FALSE(ParseAgentReady(R"({"event":"agent.joined"})"));
  EXPECT_FALSE(ParseAgentReady("agent.ready"));
}

TEST(UpJson, ShowsAnEventAsAPersonReadsIt) {
  EXPECT_EQ(EventText(R"({"at":"x","level":"warn","event":"a.b","n":3,"why":"no"})"),
            "a.b  n: 3  why: no");
  EXPECT_EQ(EventText("FATAL: it is so"), "FATAL: it is so");
}

}  // namespace
}  // namespace tidemill
