// SPDX-License-Identifier: Apache-2.0
#include "objects/gcs_store.h"

#include <stdlib.h>

#include <stdexcept>

#include "cloud/cloud_fixture.h"
#include "cloud/web.h"
#include "objects/object_contract.h"

namespace tidemill {
namespace {

std::string GcsSetting(const char* name) {
  const char* const value = getenv(name);
  if (value == nullptr) throw std::runtime_error("run under tools/with_gcs.py");
  return value;
}

// A new bucket of the server that plays Google's.
class GcsHolder : public ObjectStoreHolder {
 public:
  GcsHolder() {
    static int buckets = 0;
    const std::string bucket =
        "bucket-" + std::to_string(getpid()) + "-" + std::to_string(++buckets);
    const std::string url = GcsSetting("TIDEMILL_TEST_GCS");
    MakeBucket(url, bucket);
    world_.environment = {{"STORAGE_EMULATOR_HOST", url}};
    world_.now_ms = [] { return std::int64_t{0}; };
    tokens_.emplace(loop_, world_);
    auto store = GcsStore::Open({loop_, random_, *tokens_, world_}, {.bucket = bucket});
    if (!store) throw std::runtime_error(store.error().reason);
    store_ = *std::move(store);
  }
  ObjectStore& store() override { return *store_; }
  bool counts_folded() const override { return false; }

 private:
  void MakeBucket(const std::string& url, const std::string& name) {
    Web web(loop_, {});
    int status = 0;
    web.Send(ParseWebUrl(url)->origin,
             {.method = "POST",
              .target = "/storage/v1/b?project=test",
              .content_type = "application/json",
              .body = "{\"name\":\"" + name + "\"}"},
             {}, [&](const Result<HttpResponse>& got) {
               status = got ? got->status : 0;
               loop_.Stop();
             });
    loop_.Run();
    if (status != 200) throw std::runtime_error("no bucket");
  }

  SeededRandom random_{1};
  CloudWorld world_;
  std::optional<GoogleTokens> tokens_;
  std::unique_ptr<GcsStore> store_;
};

const ObjectStoreMaker kGcs = [] { return std::make_unique<GcsHolder>(); };
INSTANTIATE_TEST_SUITE_P(Gcs, ObjectStoreTest, testing::Values(kGcs));

// A store that is played, which asks for tokens.
class PlayedGcsTest : public CloudFixture {
 protected:
  PlayedGcsTest() {
    world_.environment["GCE_METADATA_HOST"] = Host();
    tokens_.emplace(loop_, world_);
    auto store =
        GcsStore::Open({loop_, random_, *tokens_, world_}, {.bucket = "bucket", .endpoint = Url()});
    EXPECT_TRUE(store);
    store_ = *std::move(store);
  }
  HttpResponse Token() const { return {.body = R"({"access_token":"t1","expires_in":3000})"}; }
  Result<void> Put(std::size_t size) {
    return Await<void>(
        [&](auto done) { store_->Put("key", BodyOf(std::string(size, 'x')), {}, done); });
  }

  SeededRandom random_{1};
  std::optional<GoogleTokens> tokens_;
  std::unique_ptr<GcsStore> store_;
};

TEST_F(PlayedGcsTest, ShowsItsTokenAndTriesAgainWhatMayPass) {
  int calls = 0;
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    if (request.path.starts_with("/computeMetadata")) return Token();
    if (HeaderOf(request, "Authorization") != "Bearer t1") return {.status = 401};
    if (++calls == 1) return {.status = 503};
    if (calls == 2) {
      return {.status = 403, .body = R"({"error":{"errors":[{"reason":"rateLimitExceeded"}]}})"};
    }
    return {};
  };
  const auto put = Put(10);
  ASSERT_TRUE(put) << put.error().reason;
  EXPECT_EQ(calls, 3);
}

TEST_F(PlayedGcsTest, ShowsItsTokenToNobodyElse) {
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    if (request.path.starts_with("/computeMetadata")) return Token();
    EXPECT_EQ(request.method, "POST") << "goes on";
    return {.headers = {{"Location", "http://127.0.0.1:1/upload?upload_id=1"}}};
  };
  const auto put = Put(20 << 20);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::kInvalid);
}

TEST_F(PlayedGcsTest, GoesOnFromWhatTheStoreHasKept) {
  std::string stored;
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    if (request.path.starts_with("/computeMetadata")) return Token();
    if (request.method == "POST") return {.headers = {{"Location", Url() + "/s?upload_id=1"}}};
    const std::string range = HeaderOf(request, "Content-Range");
    EXPECT_TRUE(range.starts_with("bytes " + std::to_string(stored.size()) + "-")) << range;
    // The first time it keeps only the half of what was sent.
    stored += request.body.substr(0, stored.empty() ? request.body.size() / 2 : std::string::npos);
    if (stored.size() == 20 << 20) return {};
    return {.status = 308, .headers = {{"Range", "bytes=0-" + std::to_string(stored.size() - 1)}}};
  };
  const auto put = Put(20 << 20);
  ASSERT_TRUE(put) << put.error().reason;
  EXPECT_EQ(stored.size(), 20u << 20);
}

}  // namespace
}  // namespace tidemill
