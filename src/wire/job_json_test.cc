// SPDX-License-Identifier: Apache-2.0
#include "wire/job_json.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "wire/item_json.h"
#include "wire/size.h"
#include "wire/stats_json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

std::string WhyNotNewJob(std::string_view body) {
  const auto read = ParseNewJob(body);
  return read ? "" : read.error().reason;
}

std::string WithSpec(std::string_view spec) {
  return "{\"name\":\"render\",\"spec\":" + std::string(spec) + "}";
}

TEST(JobJson, ASpecIsReadAndKept) {
  const auto job = ParseNewJob(R"({"name": "render", "key": "k1", "open": true, "spec": {
      "retries": 5, "resources": {"cpus": 0.5, "memory": "4GiB"}, "image": "a/b:3",
      "command": ["render", "{item}"]}})");
  ASSERT_TRUE(job) << job.error().reason;
  EXPECT_EQ(job->project, "default");
  EXPECT_EQ(job->key, "k1");
  EXPECT_TRUE(job->open);
  EXPECT_EQ(job->spec.name, "render");
  EXPECT_EQ(job->spec.retries, 5);
  EXPECT_EQ(job->spec.resources, (Resources{500, std::int64_t{4} << 30}));
  EXPECT_EQ(job->spec.document, R"({"command":["render","{item}"],"image":"a/b:3",)"
                                R"("resources":{"cpus":0.5,"memory":"4GiB"},"retries":5})");
}

TEST(JobJson, WhatIsNotSaidHasADefault) {
  const auto job = ParseNewJob(R"({"spec":{"name":"a"}})");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->spec.name, "a");
  EXPECT_EQ(job->spec.retries, 3);
  EXPECT_EQ(job->spec.resources, (Resources{1000, 0}));
  EXPECT_EQ(job->key, "");
  EXPECT_FALSE(job->open);
}

TEST(JobJson, WhatIsWrongIsNamed) {
  EXPECT_EQ(WhyNotNewJob(R"({"nam":"a","spec":{}})"),
            "the body: unknown field 'nam'; did you mean 'name'?");
  EXPECT_EQ(WhyNotNewJob(R"({"name":"a","x":1,"spec":{}})"),
            "the body: unknown field 'x'; known are 'name' 'key' 'open' 'spec'");
  EXPECT_EQ(WhyNotNewJob(R"({"name":"a"})"), "spec: is missing");
  EXPECT_EQ(WhyNotNewJob(R"({"spec":{}})"), "name: is missing");
  EXPECT_EQ(WhyNotNewJob(R"({"name":"a","spec":{"name":"b"}})"),
            "spec.name: is another one than the request's own name");
  EXPECT_EQ(WhyNotNewJob(R"({"name":"a b","spec":{}})"),
            "name: must be letters, digits, '.', '_' and '-', and begin with a letter or digit");
  EXPECT_EQ(WhyNotNewJob(R"({"name":"a","key":"","spec":{}})"),
            "key: must not be empty; leave it away to get a new job");
  EXPECT_EQ(WhyNotNewJob(R"({"name":"a","open":1,"spec":{}})"),
            "open: must be true or false, not a number");
  EXPECT_EQ(WhyNotNewJob(WithSpec(R"({"retries":101})")), "spec.retries: must be from 0 to 100");
  EXPECT_EQ(WhyNotNewJob(WithSpec(R"({"retries":1.5})")),
            "spec.retries: must be an integer, not a fraction");
  EXPECT_EQ(WhyNotNewJob(WithSpec(R"({"resources":{"memry":1}})")),
            "spec.resources: unknown field 'memry'; did you mean 'memory'?");
  EXPECT_EQ(WhyNotNewJob(WithSpec(R"({"resources":{"memory":"4 gigs"}})")),
            "spec.resources.memory: must be a size such as \"4GiB\"");
  EXPECT_EQ(WhyNotNewJob(WithSpec(R"({"resources":{"cpus":0}})")),
            "spec.resources.cpus: must be from 0.001 to 1000000");
}

TEST(JobJson, TextThatIsNotOneClearValueIsRefused) {
  EXPECT_NE(WhyNotNewJob("{"), "");
  EXPECT_NE(WhyNotNewJob(""), "");
  EXPECT_NE(WhyNotNewJob("{} {}"), "");
  EXPECT_NE(WhyNotNewJob("{\"name\":\"\xff\"}"), "");
  EXPECT_EQ(WhyNotNewJob(R"({"name":"a","name":"b"})"), "the field 'name' is there twice");
  EXPECT_EQ(WhyNotNewJob(WithSpec(R"({"n":123456789012345678901234567890})")),
            "an integer of over 64 bits");
  EXPECT_NE(WhyNotNewJob(WithSpec(R"({"n":1e999})")), "");
  const auto nested = [](int depth) {
    return WithSpec(std::string("{\"a\":") + std::string(static_cast<std::size_t>(depth), '[') +
                    std::string(static_cast<std::size_t>(depth), ']') + "}");
  };
  EXPECT_NE(WhyNotNewJob(nested(30)).find("unknown field 'a'"), std::string::npos);
  EXPECT_EQ(WhyNotNewJob(nested(31)), "nested deeper than 32");
  EXPECT_EQ(WhyNotNewJob(nested(500'000)), "nested deeper than 32");
  const std::string large(limits::kSpecBytes, 'x');
  EXPECT_EQ(WhyNotNewJob(WithSpec("{\"a\":\"" + large + "\"}")), "spec: is more than 65536 bytes");
}

TEST(JobJson, AJobLooksAsTheContractSays) {
  Job job;
  job.id = {7};
  job.spec.name = "render";
  job.spec.document = R"({"image":"a"})";
  job.state = JobState::kActive;
  job.open = true;
  job.round = 2;
  job.parts = 3;
  job.chunks = 4;
  job.items = 5000;
  job.created_ms = 1'777'636'985'007;
  const std::string fields =
      R"({"id":"render-7","number":7,"name":"render","state":"active","open":true,"round":2,)"
      R"("parts":3,"items":5000,"created_at":"2026-05-01T12:03:05.007Z","queue":"default",)"
      R"("spec":{"image":"a"})";
  EXPECT_EQ(FormatJob(job), fields + "}");
  EXPECT_EQ(FormatJobCounts({job, {5, 1, 1, 1, 1, 1}}),
            fields + R"(,"counts":{"total":5,"succeeded":1,"failed":1,"running":1,"waiting":1,)"
                     R"("cancelled":1}})");
  EXPECT_EQ(FormatJobs(std::vector<Job>{job}, true), R"({"jobs":[)" + fields + R"(}],"next":"7"})");
  EXPECT_EQ(FormatJobs(std::vector<Job>{}, false), R"({"jobs":[]})");
  job.memory_bytes = 4096;
  job.trial = true;
  EXPECT_NE(FormatJob(job).find(R"("memory_bytes":4096,"trial":true,"queue":"default","spec")"),
            std::string::npos);
  job.image_digest = "sha256:" + std::string(64, '0');
  EXPECT_NE(FormatJob(job).find(R"("image_digest":"sha256:00000000)"), std::string::npos);
  EXPECT_EQ(FormatReopened(12, 3), R"({"items":12,"round":3})");
}

TEST(JobJson, ItemsAreListedWithTheirTexts) {
  ItemPage page;
  page.items = {{12, ItemState::kFailed, "a \"b\"\t\xc3\xbc"}, {13, ItemState::kWaiting, ""}};
  page.next = ItemPlace{1, 5};
  EXPECT_EQ(FormatItems(page),
            "{\"items\":[{\"item\":12,\"state\":\"failed\",\"text\":\"a \\\"b\\\"\\t\xc3\xbc\"},"
            "{\"item\":13,\"state\":\"waiting\",\"text\":\"\"}],\"next\":\"1.5\"}");
}

TEST(JobJson, APlaceComesBackAsItWent) {
  EXPECT_EQ(*ParsePlace(FormatPlace({48'828, 2047})), (ItemPlace{48'828, 2047}));
  for (const char* text :
       {"", "1", "1.", ".1", "1.2048", "-1.0", "1.-1", "1.1x", " 1.1", "99999999999.1", "1.1.1"}) {
    EXPECT_FALSE(ParsePlace(text)) << text;
  }
}

TEST(JobJson, ARetryNamesEitherTheFailedOrItems) {
  EXPECT_EQ(*ParseRetry(R"({"failed":true})"), RetryRequest());
  EXPECT_EQ(*ParseRetry(R"({"items":[4,2]})"), (RetryRequest{.items = {4, 2}}));
  EXPECT_EQ(*ParseRetry(R"({"group":{"signature":"a b","cause":"timeout"}})"),
            (RetryRequest{.group = FailureKey{"a b", Cause::kTimeout}}));
  for (const char* body :
       {"{}", R"({"failed":false})", R"({"failed":true,"items":[1]})", R"({"items":[]})",
        R"({"items":[-1]})", R"({"items":[1.5]})", R"({"items":[100000000]})", R"({"item":[1]})",
        R"({"group":{}})", R"({"group":{"signature":"a","cause":"b"}})", R"({"group":1})",
        R"({"group":{"signature":"a","cause":"failed"},"failed":true})"}) {
    EXPECT_FALSE(ParseRetry(body)) << body;
  }
  std::string many = "{\"items\":[0";
  for (std::size_t i = 1; i <= kMostRetryItems; ++i) many.append(",").append(std::to_string(i));
  EXPECT_FALSE(ParseRetry(many.append("]}")));
}

TEST(JobJson, StatsAddUp) {
  const std::string others = R"("out-of-memory":0,"cancelled":0,"interrupted":0,)"
                             R"("machine-fault":0,"image":0,"rejected-output":0,)";
  Summary summary;
  for (std::int64_t item = 0; item < 100; ++item) {
    summary.Add({.item = item, .duration_ms = item, .memory_bytes = 4096, .machine = "m"}, true);
  }
  summary.Add({.item = 5, .cause = Cause::kFailed, .duration_ms = 7, .machine = "m"}, false);
  const std::string text = FormatStats(summary, false);
  EXPECT_NE(text.find(R"("attempts":{"succeeded":100,"failed":1,"lost":0,"timeout":0,)" + others +
                      R"("total":101})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("outcomes":{"succeeded":100,"failed":0,"lost":0,"timeout":0,)" + others +
                      R"("total":100})"),
            std::string::npos);
  EXPECT_NE(text.find(R"("max":99)"), std::string::npos);
  EXPECT_NE(text.find(R"("slowest":[{"item":99,"duration_ms":99},)"), std::string::npos);
  EXPECT_EQ(FormatStats({}, true),
            R"({"attempts":{"succeeded":0,"failed":0,"lost":0,"timeout":0,)" + others +
                R"("total":0},)"
                R"("outcomes":{"succeeded":0,"failed":0,"lost":0,"timeout":0,)" +
                others +
                R"("total":0},)"
                R"("duration_ms":{"count":0,"buckets":[]},"memory_bytes":{"count":0,"buckets":[]},)"
                R"("cpu_millis":{"count":0,"buckets":[]},"slowest":[],"largest":[],"unreadable":0,)"
                R"("dropped":0,"partial":true})");
}

TEST(JobJson, TheSmallBodiesAreReadStrictly) {
  EXPECT_EQ(*ParseSeal(R"({"parts":3})"), 3);
  EXPECT_FALSE(ParseSeal("{}"));
  EXPECT_FALSE(ParseSeal(R"({"parts":-1})"));
  EXPECT_FALSE(ParseSeal(R"({"parts":3,"part":3})"));
  EXPECT_EQ(*ParseRange(R"({"range":10000000})"), limits::kItemsPerRangePart);
  EXPECT_FALSE(ParseRange(R"({"range":10000001})"));
  EXPECT_FALSE(ParseRange(R"({"range":0})"));
  EXPECT_TRUE(ParseNothing(""));
  EXPECT_TRUE(ParseNothing("{}"));
  EXPECT_FALSE(ParseNothing("{\"now\":true}"));
}

TEST(Size, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(ParseSize("0"), 0);
  EXPECT_EQ(ParseSize("100"), 100);
  EXPECT_EQ(ParseSize("100B"), 100);
  EXPECT_EQ(ParseSize("512MiB"), 512 << 20);
  EXPECT_EQ(ParseSize("1.5 GiB"), 1536 << 20);
  EXPECT_EQ(ParseSize("2GB"), 2'000'000'000);
  EXPECT_EQ(ParseSize("1048576TiB"), std::int64_t{1} << 60);
  for (const char* text : {"", " 1", "GiB", "-1", "1gib", "1 ", "1  GiB", "1GiB ", "1e3", "0x10",
                           "nan", "inf", "1048577TiB", "1.2.3"}) {
    EXPECT_FALSE(ParseSize(text)) << text;
  }
}

}  // namespace
}  // namespace tidemill
