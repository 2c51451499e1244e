// SPDX-License-Identifier: Apache-2.0
#include "wire/submit_json.h"

#include <gtest/gtest.h>

#include "wire/job_json.h"

namespace tidemill {
namespace {

TEST(EditSpec, SetsNameEnvAndDeclaredParamsAndKeepsTheRest) {
  const auto edited =
      EditSpec(R"({"image":"a","env":{"A":"1"},"params":{"size":3}})",
               {.name = "b", .env = {{"A", "2"}, {"C", "x=y"}}, .params = {{"size", "9"}}});
  ASSERT_TRUE(edited) << edited.error().reason;
  EXPECT_EQ(*edited, R"({"env":{"A":"2","C":"x=y"},"image":"a","name":"b","params":{"size":"9"}})");
}

TEST(EditSpec, WishesTakeThePlaceOfThoseInTheFile) {
  SpecEdits edits;
  const std::string before = R"({"after":[1],"budget":1,"queue":"a"})";
  EXPECT_EQ(EditSpec(before, edits), before);
  edits.wishes = {.queue = "b",
                  .priority = 0,
                  .deadline = "6h",
                  .budget = "20.50",
                  .max_parallel = 3,
                  .after = {"render-7", "9"}};
  EXPECT_EQ(EditSpec(before, edits),
            R"({"after":["render-7","9"],"budget":"20.50","deadline":"6h","max_parallel":3,)"
            R"("priority":0,"queue":"b"})");
}

TEST(EditSpec, NamesTheNearestParam) {
  const auto edited =
      EditSpec(R"({"params":{"size":3}})", {.name = "", .env = {}, .params = {{"sise", "1"}}});
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code, Code::kInvalid);
  EXPECT_EQ(edited.error().reason, "unknown param 'sise'; did you mean 'size'?");
}

TEST(EditSpec, SaysThatThereAreNoParams) {
  const auto edited = EditSpec("{}", {.name = "", .env = {}, .params = {{"a", "1"}}});
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().reason, "unknown param 'a'; the spec declares none under 'params'");
}

TEST(EditSpec, RefusesWhatIsNoObject) {
  EXPECT_FALSE(EditSpec("[]", {}));
  EXPECT_FALSE(EditSpec(R"({"env":["A=1"]})", {.name = "", .env = {{"A", "1"}}, .params = {}}));
}

TEST(SubmitJson, IsWhatTheServerReads) {
  const auto job = ParseNewJob(FormatNewJob("k\"1", R"({"name":"n","image":"i","command":["x"]})"));
  ASSERT_TRUE(job) << job.error().reason;
  EXPECT_EQ(job->key, "k\"1");
  EXPECT_EQ(job->spec.name, "n");
  EXPECT_EQ(ParseRange(FormatRange(17)), 17);
  EXPECT_EQ(ParseSeal(FormatSeal(3)), 3);
  for (const RetryRequest& retry :
       {RetryRequest(), RetryRequest{.items = {4, 7}},
        RetryRequest{.group = FailureKey{"no '...' at \"x\"", Cause::kFailed}}}) {
    EXPECT_EQ(*ParseRetry(FormatRetry(retry)), retry);
  }
}

}  // namespace
}  // namespace tidemill
