// SPDX-License-Identifier: Apache-2.0
// What an image says of itself, as its registry has it.
#include <map>

#include <gtest/gtest.h>

#include "base/digest.h"
#include "net/http_fixture.h"
#include "registry/registries.h"

namespace tidemill {
namespace {

std::string DigestOfText(std::string_view text) { return "sha256:" + Hex(Sha256(text)); }

// A registry whose blobs may be on another server.
class ImageConfigTest : public HttpFixture {
 protected:
  void SetUp() override {
    rules_.tls = TestAuthority::Common().Trust();
    rules_.rules = {.listed = {"127.0.0.1"}, .any_public = false};
    Serve([this](HttpRequest request, HttpRespond respond) {
      asked_.push_back(request.path);
      const auto moved = moved_.find(request.path);
      if (moved != moved_.end()) {
        return respond({.status = 307, .headers = {{"Location", moved->second}}});
      }
      const auto found = files_.find(request.path);
      if (found == files_.end()) return respond({.status = 404});
      respond({.body = found->second});
    });
  }
  std::string Host() const { return "127.0.0.1:" + std::to_string(server_->port()); }

  // Its digest.
  std::string Put(const std::string& folder, const std::string& body) {
    const std::string digest = DigestOfText(body);
    files_["/v2/a/" + folder + "/" + digest] = body;
    return digest;
  }
  std::string PutImage(const std::string& config) {
    config_ = Put("blobs", config);
    return Put("manifests", R"({"schemaVersion":2,"config":{"digest":")" + config_ + R"("}})");
  }

  Result<ImageConfig> Read(const std::string& digest) {
    Registries registries(loop_, rules_);
    std::optional<Result<ImageConfig>> result;
    registries.ReadConfig({Host() + "/a", digest}, digest, std::nullopt,
                          [&](Result<ImageConfig> got) { result.emplace(std::move(got)); });
    RunUntil([&] { return result.has_value(); });
    return result ? *std::move(result) : Result<ImageConfig>(Fail(Code::kInternal, "hangs"));
  }

  RegistryOptions rules_;
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> moved_;
  std::vector<std::string> asked_;
  std::string config_;
};

const char kConfig[] = R"({"architecture":"amd64","config":{"Env":["A=b","NVIDIA_REQUIRE_CUDA=)"
                       R"(cuda>=12.2"],"Labels":{"k":"v"}}})";
const ImageConfig kRead{{"A=b", "NVIDIA_REQUIRE_CUDA=cuda>=12.2"}, {{"k", "v"}}};

TEST_F(ImageConfigTest, IsReadByTheManifest) {
  const auto read = Read(PutImage(kConfig));
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(*read, kRead);
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(ImageConfigTest, OfAnIndexIsThatForLinuxOnAmd64) {
  const std::string other = PutImage("{}");
  const std::string ours = PutImage(kConfig);
  const auto entry = [](const std::string& digest, const std::string& architecture) {
    return R"({"digest":")" + digest + R"(","platform":{"os":"linux","architecture":")" +
           architecture + "\"}}";
  };
  const std::string index =
      R"({"manifests":[)" + entry(other, "arm64") + "," + entry(ours, "amd64") + "]}";
  const auto read = Read(Put("manifests", index));
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(*read, kRead);
  EXPECT_EQ(asked_.size(), 3U);
}

TEST_F(ImageConfigTest, WhatHasAnotherDigestIsNotBelieved) {
  const std::string digest = PutImage(kConfig);
  files_["/v2/a/blobs/" + config_] += " ";
  EXPECT_EQ(Read(digest).error().code, Code::kUnavailable);
}

TEST_F(ImageConfigTest, AnIndexOfIndexesEnds) {
  std::string digest = PutImage(kConfig);
  for (int i = 0; i < 3; ++i) {
    digest = Put("manifests", R"({"manifests":[{"digest":")" + digest + R"("}]})");
  }
  EXPECT_EQ(Read(digest).error().code, Code::kUnavailable);
  EXPECT_EQ(asked_.size(), 3U);
}

TEST_F(ImageConfigTest, ABlobMayBeElsewhereButNotAnywhere) {
  const std::string digest = PutImage(kConfig);
  const std::string blob = "/v2/a/blobs/" + config_;
  files_["/bucket/blob"] = kConfig;
  moved_[blob] = "http://localhost:" + std::to_string(server_->port()) + "/bucket/blob?key=1";
  EXPECT_EQ(Read(digest).error().code, Code::kForbidden) << "localhost is not listed";
  rules_.rules.listed.push_back("localhost");
  const auto read = Read(digest);
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(*read, kRead);
  files_["/bucket/blob"] = "something else";
  EXPECT_EQ(Read(digest).error().code, Code::kUnavailable);
  moved_[blob] = "http://registry.example/clear/text";
  EXPECT_EQ(Read(digest).error().code, Code::kUnavailable);
}

TEST_F(ImageConfigTest, WhatIsNoImageIsSaid) {
  EXPECT_EQ(Read("sha256:" + std::string(64, '0')).error().code, Code::kNotFound);
  EXPECT_EQ(Read(Put("manifests", "{}")).error().code, Code::kUnavailable);
  EXPECT_EQ(Read(Put("manifests", "[")).error().code, Code::kUnavailable);
  EXPECT_EQ(Read(PutImage("no JSON")).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace tidemill
