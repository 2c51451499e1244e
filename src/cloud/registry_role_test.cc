// SPDX-License-Identifier: Apache-2.0
#include "cloud/registry_role.h"

#include "base/bytes.h"
#include "base/digest.h"
#include "cloud/cloud_fixture.h"
#include "cloud/sigv4.h"

namespace tidemill {
namespace {

using Login = std::optional<RegistryLogin>;
using Kind = CloudRegistry::Kind;
constexpr char kEcrHost[] = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";

TEST(CloudRegistryOf, KnowsTheRegistriesOfClouds) {
  const auto ecr = [](const char* region, bool fips = false) {
    return CloudRegistry{Kind::kEcr, region, fips};
  };
  EXPECT_EQ(CloudRegistryOf(kEcrHost), ecr("eu-west-1"));
  EXPECT_EQ(CloudRegistryOf("123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn"), ecr("cn-north-1"));
  EXPECT_EQ(CloudRegistryOf("123456789012.dkr.ecr-fips.us-east-1.amazonaws.com"),
            ecr("us-east-1", true));
  const CloudRegistry google{Kind::kGoogle};
  for (const char* host : {"gcr.io", "eu.gcr.io", "us-central1-docker.pkg.dev"}) {
    EXPECT_EQ(CloudRegistryOf(host), google) << host;
  }
}

TEST(CloudRegistryOf, IsNotFooledByLikeNames) {
  for (const char* host :
       {"docker.io", "localhost:5000", "", "12345678901.dkr.ecr.eu-west-1.amazonaws.com",
        "a23456789012.dkr.ecr.eu-west-1.amazonaws.com",
        "123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.example",
        "123456789012.dkr.ecr.evil.example/.amazonaws.com",
        "123456789012.dkr.ecr.a.b.amazonaws.com", "123456789012.dkr.ecr..amazonaws.com",
        "123456789012.dkr.ecr.eu-west-1.amazonaws.com.cn",
        "123456789012.dkr.ecr.cn-north-1.amazonaws.com", "evilgcr.io", "gcr.io.evil.example",
        ".gcr.io", "gcr.io:443", "evil.example#.gcr.io", "docker.pkg.dev", "a@b-docker.pkg.dev"}) {
    EXPECT_FALSE(CloudRegistryOf(host)) << host;
  }
}

TEST(ParseCloudRegistry, TakesWhatPeopleWrite) {
  EXPECT_EQ(ParseCloudRegistry("google").value(), (CloudRegistry{Kind::kGoogle}));
  EXPECT_EQ(ParseCloudRegistry("aws:eu-west-1").value(), (CloudRegistry{Kind::kEcr, "eu-west-1"}));
  for (const char* text : {"", "aws", "aws:", "aws:a/b", "azure", "google:x"}) {
    EXPECT_FALSE(ParseCloudRegistry(text)) << text;
  }
}

class RegistryRolesTest : public CloudFixture {
 protected:
  RegistryRolesTest() {
    world_.environment["AWS_ACCESS_KEY_ID"] = "AK";
    world_.environment["AWS_SECRET_ACCESS_KEY"] = "SK";
  }

  Result<Login> LoginFor(const std::string& host) {
    if (!roles_) roles_.emplace(loop_, RegistryRolesOptions{world_, hosts_});
    return Await<Login>([&](auto done) { roles_->LoginFor(host, done); });
  }

  // ECR, which believes only what is signed right for its region.
  void BeEcr() {
    world_.environment["AWS_ENDPOINT_URL_ECR"] = Url();
    play_ = [this](const HttpRequest& request) -> HttpResponse {
      if (down_) return {.status = 500};
      const AwsSigned expected =
          SignAws({.method = "POST",
                   .host = Host(),
                   .headers = {{"Content-Type", "application/x-amz-json-1.1"},
                               {"X-Amz-Target",
                                "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"}},
                   .payload = Hex(Sha256("{}"))},
                  {.id = "AK", .secret = "SK"}, {.region = "eu-west-1", .service = "ecr"}, now_ms_);
      if (request.path != "/" || request.body != "{}" ||
          HeaderOf(request, "Authorization") != *FindField(expected.headers, "Authorization")) {
        return {.status = 400, .body = R"({"__type":"x#AccessDenied","message":"not signed"})"};
      }
      const std::string token = EncodeBase64("AWS:password" + std::to_string(++given_));
      return {.body = R"({"authorizationData":[{"authorizationToken":")" + token +
                      R"(","expiresAt":)" + std::to_string((now_ms_ + kLifeMs) / 1000) + ".25}]}"};
    };
  }

  static constexpr std::int64_t kLifeMs = 12 * 3600 * 1000;
  bool down_ = false;
  int given_ = 0;
  std::map<std::string, CloudRegistry> hosts_;
  std::optional<RegistryRoles> roles_;
};

TEST_F(RegistryRolesTest, HasNothingForOtherHosts) {
  EXPECT_EQ(LoginFor("registry.example:5000").value(), std::nullopt);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(RegistryRolesTest, RenewsTheLoginToEcrWellBeforeItEnds) {
  BeEcr();
  const auto got = LoginFor(kEcrHost);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, (RegistryLogin{"AWS", "password1"}));
  EXPECT_EQ(LoginFor("999999999999.dkr.ecr.eu-west-1.amazonaws.com").value()->password,
            "password1");
  EXPECT_EQ(given_, 1);
  now_ms_ += kLifeMs - 14 * 60 * 1000;
  EXPECT_EQ(LoginFor(kEcrHost).value()->password, "password1");
  RunUntil([this] { return LoginFor(kEcrHost).value()->password == "password2"; });
  EXPECT_EQ(given_, 2);
}

TEST_F(RegistryRolesTest, NeverGivesALoginThatIsAboutToEnd) {
  BeEcr();
  EXPECT_EQ(LoginFor(kEcrHost).value()->password, "password1");
  now_ms_ += kLifeMs - 30 * 1000;
  EXPECT_EQ(LoginFor(kEcrHost).value()->password, "password2");
}

TEST_F(RegistryRolesTest, KeepsNoError) {
  BeEcr();
  down_ = true;
  const auto got = LoginFor(kEcrHost);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
  down_ = false;
  EXPECT_EQ(LoginFor(kEcrHost).value()->password, "password1");
}

TEST_F(RegistryRolesTest, MakesOneCallForManyWhoWait) {
  BeEcr();
  roles_.emplace(loop_, RegistryRolesOptions{world_, {}});
  int got = 0;
  for (int i = 0; i < 20; ++i) {
    roles_->LoginFor(kEcrHost, [&](const Result<Login>& login) {
      EXPECT_EQ(login.value()->password, "password1");
      ++got;
    });
  }
  RunUntil([&] { return got == 20; });
  EXPECT_EQ(given_, 1);
}

TEST_F(RegistryRolesTest, SaysWhatEcrSays) {
  BeEcr();
  world_.environment["AWS_SECRET_ACCESS_KEY"] = "another";
  const auto got = LoginFor(kEcrHost);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kForbidden);
  EXPECT_NE(got.error().reason.find("AccessDenied: not signed"), std::string::npos)
      << got.error().reason;
}

TEST_F(RegistryRolesTest, SaysThatTheMachineHasNoRole) {
  BeEcr();
  world_.environment.erase("AWS_ACCESS_KEY_ID");
  EXPECT_EQ(LoginFor(kEcrHost).error().code, Code::kNobody);
}

TEST_F(RegistryRolesTest, TakesHostsOfOtherNames) {
  BeEcr();
  hosts_["mirror.example:5000"] = {Kind::kEcr, "eu-west-1"};
  EXPECT_EQ(LoginFor("mirror.example:5000").value()->user, "AWS");
}

TEST_F(RegistryRolesTest, ShowsGoogleItsToken) {
  world_.environment["GCE_METADATA_HOST"] = Host();
  play_ = [](const HttpRequest&) -> HttpResponse {
    return {.body = R"({"access_token":"ya29","expires_in":3599})"};
  };
  EXPECT_EQ(LoginFor("europe-docker.pkg.dev").value(),
            (RegistryLogin{"oauth2accesstoken", "ya29"}));
}

// Moto's tokens all end here.
constexpr std::int64_t kMotoEndMs = 1'420'070'400'000;

class MotoTest : public RegistryRolesTest {
 protected:
  MotoTest() {
    const char* const url = getenv("TIDEMILL_TEST_AWS");
    if (url == nullptr) throw std::runtime_error("run under tools/with_moto.py");
    world_.environment["AWS_ENDPOINT_URL"] = url;
  }
};

TEST_F(MotoTest, GivesALoginToEcrForAWebIdentity) {
  now_ms_ = kMotoEndMs - kLifeMs;
  world_.environment.erase("AWS_ACCESS_KEY_ID");
  world_.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = Write("token", "some.jwt\n");
  world_.environment["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/puller";
  const auto got = LoginFor(kEcrHost);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, (RegistryLogin{"AWS", "123456789012-auth-token"}));
}

}  // namespace
}  // namespace tidemill
