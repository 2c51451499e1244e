// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "cloud/cloud_fixture.h"
#include "provider/role/cloud_roles.h"
#include "wire/time.h"

namespace tidemill {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
const RoleAsk kRender{"films", "render-7", "arn:aws:iam::123456789012:role/render"};
const RoleAsk kGoogle{"films", "render-7", "render@films-1.iam.gserviceaccount.com"};

class CloudRolesTest : public CloudFixture {
 protected:
  CloudRolesTest() {
    world_.environment["AWS_ACCESS_KEY_ID"] = "AK";
    world_.environment["AWS_SECRET_ACCESS_KEY"] = "SK";
    world_.environment["AWS_REGION"] = "eu-west-1";
    world_.environment["AWS_ENDPOINT_URL_STS"] = Url();
    world_.environment["GCE_METADATA_HOST"] = Host();
    world_.environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS"] = Url();
  }
  CloudRoles& roles() {
    if (!roles_) roles_.emplace(loop_, random_, world_);
    return *roles_;
  }
  Result<RoleKeys> Ask(const RoleAsk& ask) {
    return Await<RoleKeys>([&](auto done) { roles().Keys(ask, done); });
  }
  // STS, which gives keys that are good for an hour, each time others.
  void PlaySts() {
    play_ = [this](const HttpRequest& request) -> HttpResponse {
      asked_.push_back(request.body);
      const std::string number = std::to_string(asked_.size());
      return {.status = 200,
              .body = "<R><AssumeRoleResult><Credentials><AccessKeyId>ASIA" + number +
                      "</AccessKeyId><SecretAccessKey>secret-" + number +
                      "</SecretAccessKey><SessionToken>token-" + number +
                      "</SessionToken><Expiration>" + FormatTime(now_ms_ + 60 * kMinuteMs) +
                      "</Expiration></Credentials></AssumeRoleResult></R>"};
    };
  }

  SeededRandom random_{1};
  std::vector<std::string> asked_;
  std::optional<CloudRoles> roles_;
};

TEST_F(CloudRolesTest, AssumesARoleOfAWSInTheNameOfTheJob) {
  PlaySts();
  const auto keys = Ask(kRender);
  ASSERT_TRUE(keys) << keys.error().reason;
  EXPECT_EQ(keys->document, R"({"AccessKeyId":"ASIA1","SecretAccessKey":"secret-1",)"
                            R"("Token":"token-1","Expiration":")" +
                                FormatTime(now_ms_ + 60 * kMinuteMs) + "\"}");
  EXPECT_EQ(keys->secrets, (std::vector<std::string>{"secret-1", "token-1"}));
  EXPECT_EQ(keys->ask_again, std::chrono::minutes(45));
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0],
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole"
            "%2Frender&RoleSessionName=tidemill-render-7&ExternalId=tidemill%2Ffilms"
            "&DurationSeconds=3600");
}

TEST_F(CloudRolesTest, AllAgentsOfAJobShareWhatItKeepsAndOtherJobsDoNot) {
  PlaySts();
  EXPECT_EQ(Ask(kRender)->secrets[0], "secret-1");
  EXPECT_EQ(Ask(kRender)->secrets[0], "secret-1");
  RoleAsk other = kRender;
  other.job = "render-8";
  EXPECT_EQ(Ask(other)->secrets[0], "secret-2");
  other = kRender;
  other.project = "music";
  EXPECT_EQ(Ask(other)->secrets[0], "secret-3");
  EXPECT_EQ(asked_.size(), 3U);
}

// The old ones are good for a quarter of an hour when an agent asks again, and has new ones soon.
TEST_F(CloudRolesTest, HasNewOnesInTime) {
  PlaySts();
  now_ms_ += Ask(kRender)->ask_again.count() * 1000 + 1;
  const auto old = Ask(kRender);
  EXPECT_EQ(old->secrets[0], "secret-1");
  EXPECT_EQ(old->ask_again.count(), 0);
  RunUntil([&] { return Ask(kRender)->secrets[0] != "secret-1"; });
  EXPECT_EQ(Ask(kRender)->secrets[0], "secret-2");
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(CloudRolesTest, KeepsNothingForJobsThatAreOver) {
  PlaySts();
  for (int i = 0; i < 5; ++i) {
    RoleAsk ask = kRender;
    ask.job += std::to_string(i);
    EXPECT_TRUE(Ask(ask));
  }
  EXPECT_EQ(roles().size(), 5U);
  now_ms_ += 61 * kMinuteMs;
  EXPECT_TRUE(Ask(kRender));
  EXPECT_EQ(roles().size(), 1U);
}

TEST_F(CloudRolesTest, SaysWhyARoleCannotBeHad) {
  play_ = [](const HttpRequest&) {
    return HttpResponse{.status = 403,
                        .body =
                            "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not "
                            "authorized</Message></Error></ErrorResponse>"};
  };
  const auto refused = Ask(kRender);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(refused.error().reason,
            "the keys of role arn:aws:iam::123456789012:role/render cannot be had: AccessDenied: "
            "not authorized");
}

TEST_F(CloudRolesTest, ImpersonatesAServiceAccountOfGoogle) {
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    if (request.method == "GET") {
      return {.status = 200,
              .body = R"({"access_token":"mine","expires_in":3600,"token_type":"Bearer"})"};
    }
    asked_.push_back(request.path + " " + HeaderOf(request, "Authorization") + " " + request.body);
    return {.status = 200,
            .body = R"({"accessToken":"ya29.job","expireTime":")" +
                    FormatTime(now_ms_ + 60 * kMinuteMs) + "\"}"};
  };
  const auto keys = Ask(kGoogle);
  ASSERT_TRUE(keys) << keys.error().reason;
  EXPECT_EQ(asked_, std::vector<std::string>{
                        "/v1/projects/-/serviceAccounts/render@films-1.iam.gserviceaccount.com:"
                        "generateAccessToken Bearer mine "
                        R"({"scope":["https://www.googleapis.com/auth/cloud-platform"],)"
                        R"("lifetime":"3600s"})"});
  EXPECT_EQ(keys->document, R"({"access_token":"ya29.job","expires_s":)" +
                                std::to_string(now_ms_ / 1000 + 3600) +
                                R"(,"email":"render@films-1.iam.gserviceaccount.com"})");
  EXPECT_EQ(keys->secrets, std::vector<std::string>{"ya29.job"});
}

TEST_F(CloudRolesTest, OfGoogleThatCannotBeHadIsToldInItsWords) {
  play_ = [](const HttpRequest& request) -> HttpResponse {
    if (request.method == "GET") {
      return {.status = 200,
              .body = R"({"access_token":"mine","expires_in":3600,"token_type":"Bearer"})"};
    }
    return {.status = 403, .body = R"({"error":{"code":403,"message":"Permission denied"}})"};
  };
  const auto refused = Ask(kGoogle);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().reason.find("Permission denied"), std::string::npos)
      << refused.error().reason;
}

// moto's server, whose clock is the real one.
TEST_F(CloudRolesTest, StsOfMotoGivesKeysOfTheRole) {
  const char* url = std::getenv("TIDEMILL_TEST_AWS");
  if (url == nullptr) throw std::runtime_error("run under tools/with_moto.py");
  world_ = SystemWorld();
  world_.environment = {{"AWS_ENDPOINT_URL", url},
                        {"AWS_REGION", "eu-west-1"},
                        {"AWS_ACCESS_KEY_ID", "AK"},
                        {"AWS_SECRET_ACCESS_KEY", "SK"}};
  const auto keys = Ask(kRender);
  ASSERT_TRUE(keys) << keys.error().reason;
  EXPECT_NE(keys->document.find(R"("AccessKeyId":"ASIA)"), std::string::npos) << keys->document;
  EXPECT_GT(keys->ask_again, std::chrono::minutes(43));
}

}  // namespace
}  // namespace tidemill
