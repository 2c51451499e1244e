// SPDX-License-Identifier: Apache-2.0
#include "cloud/aws_credentials.h"

#include "base/digest.h"
#include "cloud/cloud_fixture.h"
#include "wire/time.h"

namespace tidemill {
namespace {

constexpr char kRoles[] = "/latest/meta-data/iam/security-credentials/";

std::string KeysJson(const std::string& id, std::int64_t expires_ms) {
  return R"({"Code":"Success","AccessKeyId":")" + id +
         R"(","SecretAccessKey":"s","Token":"t","Expiration":")" + FormatTime(expires_ms) + "\"}";
}

class AwsCredentialsTest : public CloudFixture {
 protected:
  Result<AwsKeys> Get() {
    if (!credentials_) credentials_.emplace(loop_, world_);
    return Await<AwsKeys>([this](auto done) { credentials_->Get(done); });
  }
  std::string ReasonOf(const Result<AwsKeys>& got) { return got ? "none" : got.error().reason; }

  // An instance whose role is r, as strict as the real metadata.
  void BeInstance() {
    world_.environment.erase("AWS_EC2_METADATA_DISABLED");
    world_.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = Url();
    play_ = [this](const HttpRequest& request) -> HttpResponse {
      if (down_) return {.status = 503};
      if (request.path == "/latest/api/token") {
        const bool is_right = request.method == "PUT" &&
                              HeaderOf(request, "X-aws-ec2-metadata-token-ttl-seconds") == "21600";
        return is_right ? HttpResponse{.body = "secret-token"} : HttpResponse{.status = 400};
      }
      if (HeaderOf(request, "X-aws-ec2-metadata-token") != "secret-token") return {.status = 401};
      if (!role_.empty() && request.path == kRoles) return {.body = role_ + "\n"};
      if (request.path != kRoles + role_) return {.status = 404};
      return {.body = KeysJson("ASIA" + std::to_string(++given_), now_ms_ + life_ms_)};
    };
  }

  bool down_ = false;
  std::string role_ = "r";
  int given_ = 0;
  std::int64_t life_ms_ = 6 * 3600 * 1000;
  std::optional<AwsCredentials> credentials_;
};

TEST_F(AwsCredentialsTest, TakesTheEnvironmentFirst) {
  Write(".aws/credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=S\n");
  world_.environment["AWS_ACCESS_KEY_ID"] = "A";
  world_.environment["AWS_SECRET_ACCESS_KEY"] = "B";
  world_.environment["AWS_SESSION_TOKEN"] = "C";
  EXPECT_EQ(Get().value(), (AwsKeys{"A", "B", "C"}));
}

TEST_F(AwsCredentialsTest, ReadsAFileAnewAfterAWhile) {
  const std::string text = "[default]\naws_secret_access_key=S\naws_access_key_id=";
  Write(".aws/credentials", text + "F\n");
  EXPECT_EQ(Get().value(), (AwsKeys{"F", "S", ""}));
  Write(".aws/credentials", text + "G\n");
  EXPECT_EQ(Get()->id, "F");
  now_ms_ += 11 * 60 * 1000;
  EXPECT_EQ(Get()->id, "G");
}

TEST_F(AwsCredentialsTest, SaysWhatIsWrongWithAProfile) {
  Write(".aws/credentials", "[default]\naws_access_key_id=F\n");
  EXPECT_NE(ReasonOf(Get()).find("only one of"), std::string::npos) << ReasonOf(Get());
  Write(".aws/credentials", "[default]\nrole_arn = arn:aws:iam::1:role/x\n");
  EXPECT_NE(ReasonOf(Get()).find("no source_profile"), std::string::npos) << ReasonOf(Get());
  Write(".aws/credentials", "[default]\nrole_arn = r\nsource_profile = a\n[a]\n");
  EXPECT_NE(ReasonOf(Get()).find("no aws_access_key_id"), std::string::npos) << ReasonOf(Get());
  Write(".aws/credentials", "[default]\nsso_session = s\n");
  EXPECT_NE(ReasonOf(Get()).find("sso_session, which is not supported"), std::string::npos);
  Write(".aws/credentials", "nonsense");
  EXPECT_NE(ReasonOf(Get()).find("credentials: line 1"), std::string::npos) << ReasonOf(Get());
}

TEST_F(AwsCredentialsTest, NamesEveryPlaceInWhichItLooked) {
  const auto got = Get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNobody);
  for (const char* place :
       {"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", ".aws/credentials", ".aws/config",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_DISABLED"}) {
    EXPECT_NE(got.error().reason.find(place), std::string::npos) << got.error().reason;
  }
}

TEST_F(AwsCredentialsTest, AsksTheContainersEndpointWithTheTokenOfTheFile) {
  world_.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = Url() + "/v2/keys?id=1";
  world_.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "old";
  world_.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = Write("token", "Bearer x\n");
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    const bool is_right = request.path == "/v2/keys" && request.query.size() == 1 &&
                          HeaderOf(request, "Authorization") == "Bearer x";
    if (!is_right) return {.status = 403};
    return {.body = KeysJson("C", now_ms_ + 1000)};
  };
  EXPECT_EQ(Get().value(), (AwsKeys{"C", "s", "t"}));
  Write("token", "a\r\nb: c");
  now_ms_ += 2000;
  EXPECT_NE(ReasonOf(Get()).find("malformed"), std::string::npos) << ReasonOf(Get());
}

TEST_F(AwsCredentialsTest, EntrustsKeysToNoHostThatIsFar) {
  const std::string name = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  for (const char* url : {"http://10.0.0.1/x", "http://example.com/", "http://169.254.1.1/",
                          "http://127.0.0.1.example.com/", "http://[::2]/", "ftp://127.0.0.1/",
                          "http://0x7f000001/", "http://2130706433/", "http://127.0.0.1@a/"}) {
    world_.environment[name] = url;
    EXPECT_FALSE(ContainerCall(world_)) << url;
  }
  for (const char* url : {"http://169.254.170.2/x", "http://169.254.170.23/x", "http://[::1]/x",
                          "http://[fd00:ec2::23]/x", "http://localhost/x", "https://far/x"}) {
    world_.environment[name] = url;
    const auto call = ContainerCall(world_);
    ASSERT_TRUE(call) << url << " " << call.error().reason;
    EXPECT_EQ((*call)->call.target, "/x");
  }
  world_.environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/a";
  EXPECT_EQ((*ContainerCall(world_))->url.origin.host, "169.254.170.2");
  world_.environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "@evil/";
  EXPECT_FALSE(ContainerCall(world_));
}

TEST_F(AwsCredentialsTest, TakesTheRoleOfTheInstance) {
  BeInstance();
  EXPECT_EQ(Get().value(), (AwsKeys{"ASIA1", "s", "t"}));
  const std::vector<std::string> expected = {"PUT /latest/api/token", std::string("GET ") + kRoles,
                                             std::string("GET ") + kRoles + "r"};
  EXPECT_EQ(seen_, expected);
  EXPECT_EQ(Get()->id, "ASIA1");
  EXPECT_EQ(seen_.size(), 3u);
}

TEST_F(AwsCredentialsTest, RenewsInTheBackgroundWhileTheOldOnesAreGood) {
  BeInstance();
  EXPECT_EQ(Get()->id, "ASIA1");
  now_ms_ += life_ms_ - 14 * 60 * 1000;
  EXPECT_EQ(Get()->id, "ASIA1");
  RunUntil([this] { return Get()->id == "ASIA2"; });
  EXPECT_EQ(given_, 2);
}

TEST_F(AwsCredentialsTest, KeepsTheOldOnesWhenTheyCannotBeRenewedYet) {
  BeInstance();
  EXPECT_EQ(Get()->id, "ASIA1");
  now_ms_ += life_ms_ - 10 * 60 * 1000;
  down_ = true;
  EXPECT_EQ(Get()->id, "ASIA1");
  // Each look asks twice.
  RunUntil([this] { return seen_.size() == 5; });
  RunWhatIsReady();  // its answer
  EXPECT_EQ(Get()->id, "ASIA1");
  RunWhatIsReady();
  EXPECT_EQ(seen_.size(), 5u) << "asks again at once";
  now_ms_ += life_ms_;
  const auto got = Get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
  down_ = false;
  EXPECT_EQ(Get()->id, "ASIA2") << "an error is kept";
}

TEST_F(AwsCredentialsTest, FetchesOnceForManyWhoWait) {
  BeInstance();
  credentials_.emplace(loop_, world_);
  int got = 0;
  for (int i = 0; i < 50; ++i) {
    credentials_->Get([&](const Result<AwsKeys>& keys) {
      EXPECT_EQ(keys.value().id, "ASIA1");
      ++got;
    });
  }
  RunUntil([&] { return got == 50; });
  EXPECT_EQ(given_, 1);
}

TEST_F(AwsCredentialsTest, TellsAMachineWithoutARoleFromOneThatDoesNotAnswer) {
  BeInstance();
  role_ = "";
  EXPECT_EQ(Get().error().code, Code::kNobody);
  EXPECT_NE(ReasonOf(Get()).find("no role"), std::string::npos) << ReasonOf(Get());
  down_ = true;
  EXPECT_EQ(Get().error().code, Code::kUnavailable);
}

TEST_F(AwsCredentialsTest, BelievesNoAnswerThatIsNotWhole) {
  BeInstance();
  const auto strict = play_;
  for (const char* body :
       {"", "[]", "{", R"({"Code":"Failed","Message":"m"})", R"({"AccessKeyId":"a"})",
        R"({"AccessKeyId":"a","SecretAccessKey":"b","Expiration":"soon"})",
        R"({"AccessKeyId":"a\r\nX: y","SecretAccessKey":"b"})",
        R"({"AccessKeyId":"a","SecretAccessKey":"b","Token":"t u"})"}) {
    play_ = [&](const HttpRequest& request) {
      HttpResponse answer = strict(request);
      if (request.path == std::string(kRoles) + "r") answer.body = body;
      return answer;
    };
    const auto got = Get();
    ASSERT_FALSE(got) << body;
    EXPECT_EQ(got.error().code, Code::kInvalid) << got.error().reason;
  }
}

TEST_F(AwsCredentialsTest, DropsACallThatIsUnderWayWhenDestroyed) {
  BeInstance();
  const auto strict = play_;
  play_ = [&](const HttpRequest& request) {
    credentials_.reset();
    return strict(request);
  };
  credentials_.emplace(loop_, world_);
  credentials_->Get([](const Result<AwsKeys>&) { ADD_FAILURE() << "called"; });
  RunUntil([this] { return seen_.size() == 1; });
  RunWhatIsReady();
  EXPECT_EQ(seen_.size(), 1u);
}

TEST_F(AwsCredentialsTest, ShowsStsAWebIdentity) {
  world_.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = Write("token", "eyJ.a+b/c=\n");
  world_.environment["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/a b";
  world_.environment["AWS_ENDPOINT_URL_STS"] = Url();
  play_ = [](const HttpRequest& request) -> HttpResponse {
    const std::string expected =
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole"
        "%2Fa%20b&RoleSessionName=tidemill&WebIdentityToken=eyJ.a%2Bb%2Fc%3D";
    if (request.method != "POST" || request.body != expected) {
      return {.status = 403,
              .body =
                  "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message>"
                  "</Error></ErrorResponse>"};
    }
    return {.body =
                "<r><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>W</AccessKeyId>"
                "<SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
                "<Expiration>2026-11-15T16:02:37.185274Z</Expiration></Credentials>"
                "</AssumeRoleWithWebIdentityResult></r>"};
  };
  EXPECT_EQ(Get().value(), (AwsKeys{"W", "S", "T"}));
  world_.environment["AWS_ROLE_ARN"] = "another";
  credentials_.reset();
  const auto got = Get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kForbidden);
  EXPECT_NE(got.error().reason.find("AccessDenied: no"), std::string::npos) << got.error().reason;
}

TEST_F(AwsCredentialsTest, TakesOnTheRoleOfAProfile) {
  Write(".aws/config",
        "[default]\nrole_arn = arn:r\nsource_profile = base\nexternal_id = e/1\n"
        "region = eu-west-1\n[profile base]\naws_access_key_id=A\naws_secret_access_key=B\n");
  world_.environment["AWS_ENDPOINT_URL_STS"] = Url();
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    const std::string form =
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Ar&RoleSessionName=tidemill"
        "&ExternalId=e%2F1";
    const AwsSigned expected =
        SignAws({.method = "POST",
                 .host = Host(),
                 .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}},
                 .payload = Hex(Sha256(form))},
                {.id = "A", .secret = "B"}, {.region = "eu-west-1", .service = "sts"}, now_ms_);
    const bool is_right = request.body == form && HeaderOf(request, "Authorization") ==
                                                      *FindField(expected.headers, "Authorization");
    if (!is_right) return {.status = 403};
    return {.body =
                "<r><AssumeRoleResult><Credentials><AccessKeyId>R</AccessKeyId>"
                "<SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
                "<Expiration>2026-11-15T16:02:37Z</Expiration></Credentials>"
                "</AssumeRoleResult></r>"};
  };
  const auto got = Get();
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(*got, (AwsKeys{"R", "S", "T"}));
}

TEST_F(AwsCredentialsTest, TakesOnARoleWithTheKeysOfTheInstance) {
  BeInstance();
  const auto instance = play_;
  world_.environment["AWS_ENDPOINT_URL_STS"] = Url();
  Write(".aws/config", "[default]\nrole_arn = r\ncredential_source = Ec2InstanceMetadata\n");
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    if (request.path != "/") return instance(request);
    const bool is_instance =
        HeaderOf(request, "Authorization").find("Credential=ASIA1/") != std::string::npos;
    return {.status = is_instance ? 418 : 403};
  };
  EXPECT_NE(ReasonOf(Get()).find("418"), std::string::npos) << ReasonOf(Get());
}

TEST_F(AwsCredentialsTest, FindsStsByTheRegion) {
  world_.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = Write("token", "t");
  world_.environment["AWS_ROLE_ARN"] = "r";
  const auto host = [this] { return (*WebIdentityCall(world_))->url.origin.host; };
  EXPECT_EQ(host(), "sts.amazonaws.com");
  world_.environment["AWS_REGION"] = "eu-west-1";
  EXPECT_EQ(host(), "sts.eu-west-1.amazonaws.com");
  world_.environment["AWS_REGION"] = "cn-north-1";
  EXPECT_EQ(host(), "sts.cn-north-1.amazonaws.com.cn");
  world_.environment["AWS_REGION"] = "a.evil.example/";
  EXPECT_FALSE(WebIdentityCall(world_));
  world_.environment["AWS_ENDPOINT_URL"] = "http://sts.example.com";
  EXPECT_FALSE(WebIdentityCall(world_)) << "in clear text";
}

}  // namespace
}  // namespace tidemill
