// SPDX-License-Identifier: Apache-2.0
#include "cli/bucket_source.h"

#include <gtest/gtest.h>

#include "cli/bucket_job.h"

namespace tidemill::cli {
namespace {

class BucketSourceTest : public ::testing::Test {
 protected:
  Result<BucketSource> Open(const BucketSourceFlags& flags) {
    return OpenBucket(stores_, world_, flags);
  }
  std::string ReasonOf(const BucketSourceFlags& flags) {
    const auto got = Open(flags);
    return got ? "none" : got.error().reason;
  }

  AsioLoop loop_;
  SeededRandom random_{1};
  CloudWorld world_{.environment = {{"AWS_REGION", "eu-west-1"}, {"HOME", "/nowhere"}},
                    .now_ms = [] { return std::int64_t{0}; }};
  Stores stores_{loop_, random_, world_};
};

TEST_F(BucketSourceTest, WhatIsNoPatternIsABeginning) {
  for (const char* url : {"s3://scans", "s3://scans/"}) {
    const auto all = Open({.url = url}).value();
    EXPECT_EQ(all.url, "s3://scans/");
    EXPECT_EQ(all.bucket.root, "s3://scans/");
    EXPECT_EQ(all.prefixes, std::vector<std::string>{""});
    EXPECT_TRUE(all.bucket.wants("a/b"));
    EXPECT_FALSE(all.queue);
  }
  const auto some = Open({.url = "gs://scans/2026/a"}).value();
  EXPECT_EQ(some.bucket.root, "gs://scans/");
  EXPECT_EQ(some.prefixes, std::vector<std::string>{"2026/a"});
  EXPECT_TRUE(some.bucket.wants("2026/ab/c"));
  EXPECT_FALSE(some.bucket.wants("2026/b"));
  EXPECT_EQ(Open({.url = "file:///data/in/"}).value().bucket.root, "file:///");
}

TEST_F(BucketSourceTest, APatternIsHeldAgainstKeys) {
  const auto source = Open({.url = "s3://scans/x/**/*.png"}).value();
  EXPECT_EQ(source.prefixes, std::vector<std::string>{"x/"});
  EXPECT_TRUE(source.bucket.wants("x/y/z.png"));
  EXPECT_FALSE(source.bucket.wants("x/y/z.jpg"));
  EXPECT_NE(ReasonOf({.url = "s3://scans/[a"}), "none");
}

TEST_F(BucketSourceTest, AQueueGoesWithItsCloud) {
  const std::string sqs = "https://sqs.eu-west-1.amazonaws.com/1/q";
  const std::string pubsub = "projects/p/subscriptions/s";
  EXPECT_TRUE(Open({.url = "s3://scans/", .queue = sqs})->queue);
  EXPECT_TRUE(Open({.url = "gs://scans/", .subscription = pubsub})->queue);
  EXPECT_EQ(ReasonOf({.url = "gs://scans/", .queue = sqs}),
            "--queue is for s3://; a bucket of Google has a --subscription");
  EXPECT_EQ(ReasonOf({.url = "file:///in/", .subscription = pubsub}),
            "--subscription is for gs://; a bucket of AWS has a --queue");
  EXPECT_EQ(ReasonOf({.url = "s3://scans/", .queue = "q"}).substr(0, 12), "--queue: 'q'");
  EXPECT_NE(ReasonOf({.url = "/in/"}), "none");
}

TEST(BucketJobKey, IsTheSameForTheSameNameAndBucketOnly) {
  const std::string key = BucketJobKey("render", "s3://scans/");
  EXPECT_EQ(key, BucketJobKey("render", "s3://scans/"));
  EXPECT_NE(key, BucketJobKey("render", "s3://scans/a"));
  EXPECT_NE(key, BucketJobKey("render2", "s3://scans/"));
  EXPECT_TRUE(key.starts_with("watch-"));
}

}  // namespace
}  // namespace tidemill::cli
