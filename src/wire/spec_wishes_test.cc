// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "wire/job_json.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

std::string WhyNotWished(const std::string& field) {
  const auto spec = ParseSpec("{" + field + "}");
  return spec ? "" : spec.error().reason;
}

JobWishes WishesOf(const std::string& field) {
  const auto spec = ParseSpec("{" + field + "}");
  EXPECT_TRUE(spec) << spec.error().reason;
  return spec ? spec->job.wishes : JobWishes();
}

TEST(SpecWishes, NothingIsAskedForByItself) { EXPECT_EQ(WishesOf(""), JobWishes()); }

TEST(SpecWishes, AQueueIsAName) {
  EXPECT_EQ(WishesOf(R"("queue":"default")").queue, "default");
  EXPECT_EQ(WhyNotWished(R"("queue":"a b")"),
            "queue: must be letters, digits, '.', '_' and '-', and begin with a letter or digit");
  EXPECT_NE(WhyNotWished(R"("queue":"")"), "");
  EXPECT_NE(WhyNotWished(R"("queue":7)"), "");
  EXPECT_NE(WhyNotWished(R"("queue":null)"), "");
  EXPECT_NE(WhyNotWished("\"queue\":\"" + std::string(65, 'q') + "\""), "");
}

TEST(SpecWishes, APriorityIsNearZero) {
  EXPECT_EQ(WishesOf(R"("priority":-1000)").priority, -1000);
  EXPECT_EQ(WishesOf(R"("priority":1000)").priority, 1000);
  EXPECT_EQ(WhyNotWished(R"("priority":1001)"), "priority: must be from -1000 to 1000");
  EXPECT_NE(WhyNotWished(R"("priority":-1001)"), "");
  EXPECT_NE(WhyNotWished(R"("priority":0.5)"), "");
  EXPECT_NE(WhyNotWished(R"("priority":"high")"), "");
}

TEST(SpecWishes, ADeadlineIsATimeFromNow) {
  EXPECT_EQ(WishesOf(R"("deadline":"1d6h")").deadline, std::chrono::hours(30));
  EXPECT_EQ(WishesOf(R"("deadline":90)").deadline, std::chrono::seconds(90));
  EXPECT_EQ(WhyNotWished(R"("deadline":0)"),
            "deadline: must be from 1 second to 366 days; leave it away for none");
  EXPECT_NE(WhyNotWished(R"("deadline":"tomorrow")"), "");
  EXPECT_NE(WhyNotWished(R"("deadline":"367d")"), "");
  EXPECT_NE(WhyNotWished(R"("deadline":null)"), "");
}

TEST(SpecWishes, ABudgetIsExactDollars) {
  const auto micros = [](const std::string& text) {
    return WishesOf("\"budget\":" + text).budget.value_or(Money{}).micros;
  };
  EXPECT_EQ(micros("20"), 20'000'000);
  EXPECT_EQ(micros("0.1"), 100'000);
  EXPECT_EQ(micros(R"("20.50")"), 20'500'000);
  EXPECT_EQ(micros(R"("0.000001")"), 1);
  EXPECT_EQ(micros(R"("999999999.999999")"), 999'999'999'999'999);
  EXPECT_EQ(micros("1000000000"), 1'000'000'000'000'000);
  constexpr const char* kNoMoney = "budget: must be dollars, such as 20 or \"20.50\"";
  for (const char* text : {R"("")", R"("$20")", R"("20.")", R"(".5")", R"("1e3")", R"("-1")",
                           R"("0.0000001")", R"("1,000")", "null", "true", "[20]"}) {
    EXPECT_EQ(WhyNotWished(std::string("\"budget\":") + text), kNoMoney) << text;
  }
  constexpr const char* kBounds = "budget: must be more than 0 and at most 1000000000 dollars";
  for (const char* text : {"0", "-1", R"("0")", "1e300", "1000000001", R"("1000000000.000001")"}) {
    EXPECT_EQ(WhyNotWished(std::string("\"budget\":") + text), kBounds) << text;
  }
}

TEST(SpecWishes, MaxParallelIsAtLeastOne) {
  EXPECT_EQ(WishesOf(R"("max_parallel":1)").max_parallel, 1);
  EXPECT_EQ(WhyNotWished(R"("max_parallel":0)"), "max_parallel: must be from 1 to 100000000");
  EXPECT_NE(WhyNotWished(R"("max_parallel":"4")"), "");
  EXPECT_NE(WhyNotWished(R"("max_parallel":1.5)"), "");
}

TEST(SpecWishes, LabelsAreAsThoseOfPools) {
  EXPECT_EQ(WishesOf(R"("labels":{"a/b":"","c":"d"})").labels, (Labels{{"a/b", ""}, {"c", "d"}}));
  EXPECT_NE(WhyNotWished(R"("labels":{"a":1})"), "");
  EXPECT_NE(WhyNotWished(R"("labels":{"a: b":"1"})"), "");
  EXPECT_EQ(WhyNotWished(R"("labels":{"a":"b\nc"})"), "labels.a: must not have control characters");
  EXPECT_NE(WhyNotWished("\"labels\":{\"a\":\"" + std::string(257, 'x') + "\"}"), "");
  std::string many = "\"labels\":{\"a\":\"\"";
  for (int i = 1; i < 64; ++i) many += ",\"a" + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(WhyNotWished(many + "}"), "");
  EXPECT_EQ(WhyNotWished(many + ",\"b\":\"\"}"), "labels: has more than 64 names");
}

TEST(SpecWishes, AfterAreJobsAsPeopleWriteThem) {
  EXPECT_EQ(WishesOf(R"("after":["a-b-7","9",11])").after, (std::vector<JobId>{{7}, {9}, {11}}));
  EXPECT_EQ(WishesOf(R"("after":[])").after, std::vector<JobId>());
  for (const char* job : {R"("render")", "0", "-1", "1.5", R"("")", R"("-7")", "null", R"("a b-7")",
                          "9223372036854775807", "18446744073709551615"}) {
    EXPECT_EQ(WhyNotWished(std::string("\"after\":[1,") + job + "]"),
              "after[1]: must be a job, as render-7, or its number")
        << job;
  }
  EXPECT_EQ(WhyNotWished(R"("after":["render-7",7])"),
            "after[1]: job 7 is named before; name it once");
  EXPECT_NE(WhyNotWished(R"("after":"render-7")"), "");
  std::string many = "\"after\":[1";
  for (int i = 2; i <= 64; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(WhyNotWished(many + "]"), "");
  EXPECT_NE(WhyNotWished(many + ",65]"), "");
}

TEST(SpecWishes, AJobShowsOnlyWhatIsSet) {
  Job job;
  job.id = {7};
  job.spec.name = "a";
  const std::string plain = FormatJob(job);
  EXPECT_NE(plain.find(R"("queue":"default")"), std::string::npos);
  for (const char* field :
       {"owner", "priority", "deadline_at", "budget", "max_parallel", "labels", "after"}) {
    EXPECT_EQ(plain.find(std::string("\"") + field + "\""), std::string::npos) << field;
  }
  job.owner = "anna";
  job.created_ms = 0;
  job.spec.wishes = {.queue = "night",
                     .priority = 2,
                     .max_parallel = 4,
                     .deadline = std::chrono::hours(1),
                     .budget = Money{1'250'000},
                     .labels = {{"a", "b"}},
                     .after = {{3}, {4}}};
  EXPECT_NE(FormatJob(job).find(
                R"("owner":"anna","queue":"night","priority":2,)"
                R"("deadline_at":"1970-01-01T01:00:00.000Z","budget":1.25,"max_parallel":4,)"
                R"("labels":{"a":"b"},"after":[3,4])"),
            std::string::npos)
      << FormatJob(job);
}

}  // namespace
}  // namespace tidemill
