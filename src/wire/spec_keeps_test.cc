// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_keeps.h"

#include <gtest/gtest.h>

#include "wire/spec_json.h"

namespace tidemill {
namespace {

std::string WhyNotKept(const std::string& spec) {
  const auto parsed = ParseSpec(spec);
  return parsed ? "it was taken" : parsed.error().reason;
}

TEST(SpecKeeps, ACacheHasNamesAndUrls) {
  const auto spec = ParseSpec(
      R"({"cache":{"w.bin":"s3://models/v3.bin","ref":"gs://ref/hg38/","f":"file:///a"}})");
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->run.cache,
            (std::vector<CacheUse>{
                {"f", "file:///a"}, {"ref", "gs://ref/hg38/"}, {"w.bin", "s3://models/v3.bin"}}));
  EXPECT_TRUE(ParseSpec("{}")->run.cache.empty());
}

TEST(SpecKeeps, ACacheThatCannotBeIsRefused) {
  EXPECT_EQ(WhyNotKept(R"({"cache":{}})"), "cache: must have 1 to 16 names");
  EXPECT_EQ(WhyNotKept(R"({"cache":"s3://a/b"})"), "cache: must be an object, not a string");
  EXPECT_EQ(WhyNotKept(R"({"cache":{"a":7}})"),
            "cache.a: must be a URL such as \"s3://bucket/model.bin\"");
  EXPECT_EQ(WhyNotKept(R"({"cache":{"a":"/data"}})"),
            "cache.a: must begin with s3://, gs:// or file:///");
  EXPECT_EQ(WhyNotKept(R"({"cache":{"a":"s3://a/{item}"}})"),
            "cache.a: is the same for all items: it has no templates");
  EXPECT_EQ(WhyNotKept(R"({"cache":{"a":"s3://a"}})"),
            "cache.a: must name something in its bucket");
  for (const char* name : {"", ".", "..", "a/b", "-a", "\\u0000"}) {
    EXPECT_NE(WhyNotKept(std::string(R"({"cache":{")") + name + R"(":"s3://a/b"}})")
                  .find("is no name here"),
              std::string::npos)
        << name;
  }
  std::string many;
  for (int i = 0; i < 17; ++i) {
    many += std::string(i == 0 ? "" : ",") + "\"a" + std::to_string(i) + "\":\"s3://a/b\"";
  }
  EXPECT_EQ(WhyNotKept("{\"cache\":{" + many + "}}"), "cache: must have 1 to 16 names");
}

TEST(SpecKeeps, ACheckpointIsSavedEverySoOften) {
  using std::chrono::milliseconds;
  const auto every = [](const std::string& text) {
    return ParseSpec("{\"checkpoint\":" + text + "}").value().run.checkpoint_every;
  };
  EXPECT_EQ(ParseSpec("{}")->run.checkpoint_every, milliseconds(0));
  EXPECT_EQ(every("false"), milliseconds(0));
  EXPECT_EQ(every("true"), milliseconds(300'000));
  EXPECT_EQ(every("{}"), milliseconds(300'000));
  EXPECT_EQ(every(R"({"every":"1s"})"), milliseconds(1000));
  EXPECT_EQ(every(R"({"every":90})"), milliseconds(90'000));
  EXPECT_EQ(WhyNotKept(R"({"checkpoint":{"every":"500ms"}})"),
            "checkpoint.every: must be from 1 s to 1 day");
  EXPECT_EQ(WhyNotKept(R"({"checkpoint":"5m"})"), "checkpoint: must be true, false or {every: 5m}");
  EXPECT_EQ(WhyNotKept(R"({"checkpoint":true,"mode":"loop"})"),
            "checkpoint: a loop program has none: its items share one process");
}

}  // namespace
}  // namespace tidemill
