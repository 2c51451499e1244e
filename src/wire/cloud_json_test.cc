// SPDX-License-Identifier: Apache-2.0
#include "wire/cloud_json.h"

#include <gtest/gtest.h>

#include "wire/gcs_json.h"

namespace tidemill {
namespace {

TEST(ParseCloudTime, TakesAFractionOfAnyLength) {
  constexpr std::int64_t kMs = 1'777'636'984'000;
  EXPECT_EQ(ParseCloudTime("2026-05-01T12:03:04Z"), kMs);
  EXPECT_EQ(ParseCloudTime("2026-05-01T12:03:04.5Z"), kMs + 500);
  EXPECT_EQ(ParseCloudTime("2026-05-01T12:03:04.123456789Z"), kMs + 123);
  for (const char* text :
       {"", "Z", "2026-05-01T12:03:04", "2026-05-01T12:03:04+02:00", "2026-05-01T12:03:04,5Z",
        "2026-05-01T12:03:04.5xZ", "2026-13-01T12:03:04Z", "2026-05-01 12:03:04Z"}) {
    EXPECT_FALSE(ParseCloudTime(text)) << text;
  }
}

TEST(ParseEcrToken, NeedsATokenAndItsEnd) {
  const auto answer = ParseEcrToken(
      R"({"authorizationData":[{"authorizationToken":"QTpi","expiresAt":1777636984.5,"x":1}]})");
  ASSERT_TRUE(answer) << answer.error().reason;
  EXPECT_EQ(answer->token, "QTpi");
  EXPECT_EQ(answer->expires_ms, 1'777'636'984'500);
  for (const char* body :
       {"", "{}", R"({"authorizationData":[]})", R"({"authorizationData":[3]})",
        R"({"authorizationData":[{"authorizationToken":"QTpi"}]})",
        R"({"authorizationData":[{"authorizationToken":"","expiresAt":1}]})",
        R"({"authorizationData":[{"authorizationToken":"QTpi","expiresAt":1e300}]})"}) {
    EXPECT_FALSE(ParseEcrToken(body)) << body;
  }
}

TEST(AwsJsonMessage, FindsTheWords) {
  EXPECT_EQ(AwsJsonMessage(R"({"__type":"a.b#Denied","message":"no"})"), "Denied: no");
  EXPECT_EQ(AwsJsonMessage(R"({"__type":"Denied","Message":"no"})"), "Denied: no");
  EXPECT_EQ(AwsJsonMessage("<html>"), "<html>");
  EXPECT_EQ(AwsJsonMessage(std::string(5000, 'x')).size(), 300u);
}

TEST(ParseGcsObject, TakesSizesAsText) {
  const auto object =
      ParseGcsObject(R"({"name":"a","size":"5000000000","generation":"7","metadata":{"b":"c"}})");
  ASSERT_TRUE(object) << object.error().reason;
  EXPECT_EQ(object->size_bytes, 5'000'000'000);
  EXPECT_EQ(object->metadata.at("b"), "c");
  for (const char* body : {"", "[]", "{}", R"({"name":"a"})", R"({"name":"a","size":"-1"})",
                           R"({"name":"a","size":"1x"})", R"({"name":1,"size":"1"})"}) {
    EXPECT_FALSE(ParseGcsObject(body)) << body;
  }
  EXPECT_FALSE(ParseGcsList(R"({"items":[3]})"));
}

}  // namespace
}  // namespace tidemill
