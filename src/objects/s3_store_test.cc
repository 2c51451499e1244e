// SPDX-License-Identifier: Apache-2.0
#include "objects/s3_store.h"

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>

#include "cloud/cloud_fixture.h"
#include "cloud/web.h"
#include "objects/object_contract.h"
#include "objects/patient.h"
#include "objects/s3_call.h"

namespace tidemill {
namespace {

std::string S3Setting(const char* name) {
  const char* const value = getenv(name);
  if (value == nullptr) throw std::runtime_error("run under tools/with_s3.py");
  return value;
}

std::int64_t RealNowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A new bucket of the real server.
class S3Holder : public ObjectStoreHolder {
 public:
  explicit S3Holder(const std::string& secret = "test-secret", bool make_bucket = true) {
    static int buckets = 0;
    bucket_ = "bucket-" + std::to_string(getpid()) + "-" + std::to_string(++buckets);
    folder_ = std::filesystem::path(S3Setting("TIDEMILL_TEST_S3_FOLDER")) / bucket_;
    if (make_bucket) std::filesystem::create_directory(folder_);
    world_.environment = {{"AWS_ACCESS_KEY_ID", "test"},
                          {"AWS_SECRET_ACCESS_KEY", secret},
                          {"AWS_ENDPOINT_URL_S3", S3Setting("TIDEMILL_TEST_S3")}};
    world_.now_ms = RealNowMs;
    credentials_.emplace(loop_, world_);
    auto store = S3Store::Open({loop_, random_, *credentials_, world_}, {.bucket = bucket_});
    if (!store) throw std::runtime_error(store.error().reason);
    store_ = *std::move(store);
  }
  ~S3Holder() override {
    store_.reset();
    credentials_.reset();
    std::filesystem::remove_all(folder_);
  }
  ObjectStore& store() override { return *store_; }
  // Its objects are files, which have no empty parts.
  bool lists_empty_parts() const override { return false; }
  S3Store& s3() { return *store_; }

 private:
  SeededRandom random_{1};
  std::string bucket_;
  std::filesystem::path folder_;
  CloudWorld world_;
  std::optional<AwsCredentials> credentials_;
  std::unique_ptr<S3Store> store_;
};

const ObjectStoreMaker kS3 = [] { return std::make_unique<S3Holder>(); };
INSTANTIATE_TEST_SUITE_P(S3, ObjectStoreTest, testing::Values(kS3));

class S3StoreTest : public ObjectStoreTest {};
INSTANTIATE_TEST_SUITE_P(S3, S3StoreTest, testing::Values(kS3));

TEST_P(S3StoreTest, GivesUrlsThatAnybodyMayUse) {
  S3Store& s3 = static_cast<S3Holder&>(*holder_).s3();
  Web web(holder_->loop(), {});
  for (const char* key : {"a b+c/é", "x?y=1&z", "100%"}) {
    TIDEMILL_EXPECT_OK(Put(key, "for all"));
    const auto url = Await<std::string>([&](auto done) { s3.Presign({.key = key}, done); });
    ASSERT_TRUE(url) << url.error().reason;
    const auto parsed = ParseWebUrl(*url);
    ASSERT_TRUE(parsed) << *url;
    const auto fetch = [&](const std::string& target) {
      return Await<HttpResponse>(
          [&](auto done) { web.Send(parsed->origin, {.target = target}, {.most = 1}, done); });
    };
    EXPECT_EQ(fetch(parsed->target)->body, "for all") << *url;
    EXPECT_EQ(fetch(parsed->target + "0")->status, 403);
  }
  TIDEMILL_EXPECT_CODE(Code::kInvalid, Await<std::string>([&](auto done) {
                         s3.Presign({.key = "a", .lasts = std::chrono::hours(24 * 8)}, done);
                       }));
}

const ObjectStoreMaker kWrongSecret = [] { return std::make_unique<S3Holder>("another"); };
class S3WrongSecret : public ObjectStoreTest {};
INSTANTIATE_TEST_SUITE_P(S3, S3WrongSecret, testing::Values(kWrongSecret));

TEST_P(S3WrongSecret, IsForbidden) {
  TIDEMILL_EXPECT_CODE(Code::kForbidden, Put("a", "x"));
  TIDEMILL_EXPECT_CODE(Code::kForbidden, Put("a", Long(20 << 20)));
  TIDEMILL_EXPECT_CODE(Code::kForbidden, Head("a"));
  TIDEMILL_EXPECT_CODE(Code::kForbidden, List({}));
}

const ObjectStoreMaker kNoBucket = [] { return std::make_unique<S3Holder>("test-secret", false); };
class S3NoBucket : public ObjectStoreTest {};
INSTANTIATE_TEST_SUITE_P(S3, S3NoBucket, testing::Values(kNoBucket));

TEST_P(S3NoBucket, IsNotFound) {
  TIDEMILL_EXPECT_CODE(Code::kNotFound, Put("a", "x"));
  TIDEMILL_EXPECT_CODE(Code::kNotFound, List({}));
  EXPECT_NE(List({}).error().reason.find("NoSuchBucket"), std::string::npos);
}

// A store that is played, for what a real one does seldom.
class PlayedS3Test : public CloudFixture {
 protected:
  S3Store& Store() {
    if (store_) return *store_;
    world_.environment["AWS_ACCESS_KEY_ID"] = "AK";
    world_.environment["AWS_SECRET_ACCESS_KEY"] = "SK";
    world_.environment["AWS_ENDPOINT_URL"] = Url();
    credentials_.emplace(loop_, world_);
    auto store = S3Store::Open({loop_, random_, *credentials_, world_}, {.bucket = "bucket"});
    EXPECT_TRUE(store);
    store_ = *std::move(store);
    return *store_;
  }
  Result<void> Put(PutOptions options = {}) {
    return Await<void>([&](auto done) { Store().Put("key", BodyOf("text"), options, done); });
  }

  SeededRandom random_{1};
  std::optional<AwsCredentials> credentials_;
  std::unique_ptr<S3Store> store_;
};

TEST_F(PlayedS3Test, TriesAgainWhatMayPass) {
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    EXPECT_EQ(request.body, "text");
    if (seen_.size() == 1) return {.status = 503, .body = "<Error><Code>SlowDown</Code></Error>"};
    if (seen_.size() == 2) return {.status = 500};
    return {};
  };
  TIDEMILL_EXPECT_OK(Put());
  EXPECT_EQ(seen_.size(), 3u);
}

TEST_F(PlayedS3Test, GivesUpAfterFiveTries) {
  play_ = [](const HttpRequest&) -> HttpResponse { return {.status = 503}; };
  const auto put = Put();
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::kUnavailable);
  EXPECT_NE(put.error().reason.find("s3://bucket/key: "), std::string::npos) << put.error().reason;
  EXPECT_NE(put.error().reason.find("tried 5 times"), std::string::npos) << put.error().reason;
  EXPECT_EQ(seen_.size(), 5u);
}

TEST_F(PlayedS3Test, TriesOnceWhatIsRefused) {
  play_ = [](const HttpRequest&) -> HttpResponse {
    return {.status = 403,
            .body = "<Error><Code>AccessDenied</Code><Message>not yours</Message></Error>"};
  };
  const auto put = Put();
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::kForbidden);
  EXPECT_NE(put.error().reason.find("AccessDenied: not yours"), std::string::npos);
  EXPECT_EQ(seen_.size(), 1u);
}

TEST_F(PlayedS3Test, GoesWhereTheBucketIs) {
  for (const bool in_header : {true, false}) {
    seen_.clear();
    store_.reset();
    play_ = [in_header](const HttpRequest& request) -> HttpResponse {
      if (HeaderOf(request, "Authorization").find("/eu-west-3/s3/") != std::string::npos) return {};
      if (in_header) return {.status = 301, .headers = {{"x-amz-bucket-region", "eu-west-3"}}};
      return {.status = 400,
              .body =
                  "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region>"
                  "</Error>"};
    };
    TIDEMILL_EXPECT_OK(Put());
    EXPECT_EQ(seen_.size(), 2u);
    TIDEMILL_EXPECT_OK(Put());
    EXPECT_EQ(seen_.size(), 3u) << "forgets the region";
  }
}

TEST_F(PlayedS3Test, IsNotSentInCircles) {
  play_ = [this](const HttpRequest&) -> HttpResponse {
    return {.status = 301,
            .headers = {{"x-amz-bucket-region", "r-" + std::to_string(seen_.size())}}};
  };
  EXPECT_FALSE(Put());
  EXPECT_EQ(seen_.size(), 3u);
}

TEST_F(PlayedS3Test, BelievesNoSuccessOfAnUploadThatHasAnError) {
  play_ = [](const HttpRequest& request) -> HttpResponse {
    if (request.method == "PUT") return {.headers = {{"ETag", "\"e\""}}};
    if (request.method == "DELETE") return {.status = 204};
    const bool begins = request.query.at(0).first == "uploads";
    if (begins) return {.body = "<R><UploadId>7</UploadId></R>"};
    return {.body = "<Error><Code>InternalError</Code><Message>m</Message></Error>"};
  };
  const auto put = Await<void>(
      [&](auto done) { Store().Put("key", BodyOf(std::string(17 << 20, 'x')), {}, done); });
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::kUnknown);
  EXPECT_EQ(seen_.back(), "DELETE /bucket/key");
}

TEST(RetryBudget, EndsAndGrowsAgain) {
  RetryBudget budget;
  int tries = 0;
  while (budget.Take()) ++tries;
  EXPECT_EQ(tries, 100);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(budget.Take());
    budget.OnSuccess();
  }
  EXPECT_TRUE(budget.Take());
}

TEST(TargetOf, FindsABucketByItsHostOrItsPath) {
  const auto at = [](const S3Place& place) {
    const S3Target target = TargetOf(place, "a b");
    return (target.origin.tls ? "https://" : "http://") + Authority(target.origin) + target.path;
  };
  EXPECT_EQ(at({.bucket = "my-bucket", .region = "eu-west-1"}),
            "https://my-bucket.s3.eu-west-1.amazonaws.com/a b");
  EXPECT_EQ(at({.bucket = "my.bucket"}), "https://s3.us-east-1.amazonaws.com/my.bucket/a b");
  EXPECT_EQ(at({.bucket = "b-b", .region = "cn-north-1"}),
            "https://b-b.s3.cn-north-1.amazonaws.com.cn/a b");
  EXPECT_EQ(at({.bucket = "my-bucket", .endpoint = Origin{.host = "ceph", .port = 7480}}),
            "http://ceph:7480/my-bucket/a b");
}

TEST(RegionTold, BelievesNoRegionThatIsNone) {
  for (const char* region : {"evil.example/", "a.b", "", "A", "eu west"}) {
    EXPECT_FALSE(RegionTold({.status = 301, .headers = {{"x-amz-bucket-region", region}}}));
  }
}

TEST(ParseObjectUrl, TakesThreeSchemes) {
  using Kind = ObjectUrl::Kind;
  EXPECT_EQ(ParseObjectUrl("s3://bucket/a//b c?d").value(),
            (ObjectUrl{Kind::kS3, "bucket", "a//b c?d"}));
  EXPECT_EQ(ParseObjectUrl("gs://my.bucket").value(), (ObjectUrl{Kind::kGcs, "my.bucket", ""}));
  EXPECT_EQ(ParseObjectUrl("file:///mnt/x").value(), (ObjectUrl{Kind::kFile, "", "mnt/x"}));
  for (const char* url : {"", "s3:/b/k", "http://b/k", "s3://", "s3://b@c/k", "s3://../k",
                          "file://host/x", "s3://buc:ket/k", "s3://bucket/a\nb"}) {
    EXPECT_FALSE(ParseObjectUrl(url)) << url;
  }
}

}  // namespace
}  // namespace tidemill
