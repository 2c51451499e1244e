// SPDX-License-Identifier: Apache-2.0
#include "cloud/aws_query.h"

#include "base/digest.h"
#include "cloud/cloud_fixture.h"
#include "cloud/sigv4.h"

namespace tidemill {
namespace {

constexpr char kGroups[] = "<R><DescribeAutoScalingGroupsResult/></R>";

// What AWS says is wrong, as Auto Scaling and STS have it.
HttpResponse Refusal(int status, const std::string& code, const std::string& message) {
  return {.status = status,
          .body = "<ErrorResponse><Error><Code>" + code + "</Code><Message>" + message +
                  "</Message></Error></ErrorResponse>"};
}

class AwsQueryTest : public CloudFixture {
 protected:
  AwsQueryTest() {
    world_.environment["AWS_ACCESS_KEY_ID"] = "AK";
    world_.environment["AWS_SECRET_ACCESS_KEY"] = "SK";
    world_.environment["AWS_ENDPOINT_URL_AUTOSCALING"] = Url();
    limits_.first_wait = std::chrono::milliseconds(2);
    limits_.calls_a_second = 1e6;
  }

  AwsQuery& query() {
    if (!query_) query_.emplace(loop_, random_, world_, limits_);
    return *query_;
  }
  Result<XmlElement> Call(const AwsAction& action = {.service = "autoscaling",
                                                     .region = "eu-west-1",
                                                     .name = "DescribeAutoScalingGroups"}) {
    return Await<XmlElement>([&](auto done) { query().Call(action, done); });
  }
  // The error of a call that is answered so at every try.
  Error ErrorFor(HttpResponse answer) {
    play_ = [answer = std::move(answer)](const HttpRequest&) { return answer; };
    const auto got = Call();
    EXPECT_FALSE(got);
    return got ? Error{} : got.error();
  }

  SeededRandom random_{1};
  AwsQueryLimits limits_;
  std::optional<AwsQuery> query_;
};

TEST_F(AwsQueryTest, SignsTheFormForItsServiceAndRegion) {
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    const std::string form =
        "Action=DescribeAutoScalingGroups&Version=2011-01-01&AutoScalingGroupNames.member.1=a%20b";
    const AwsSigned expected = SignAws(
        {.method = "POST",
         .host = Host(),
         .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}},
         .payload = Hex(Sha256(form))},
        {.id = "AK", .secret = "SK"}, {.region = "eu-west-1", .service = "autoscaling"}, now_ms_);
    if (request.body != form ||
        HeaderOf(request, "Authorization") != *FindField(expected.headers, "Authorization")) {
      return Refusal(403, "SignatureDoesNotMatch", request.body);
    }
    return {.body = "<R><A><B>yes</B></A></R>"};
  };
  const auto got = Call({.service = "autoscaling",
                         .region = "eu-west-1",
                         .name = "DescribeAutoScalingGroups",
                         .params = {{"AutoScalingGroupNames.member.1", "a b"}}});
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(got->At("A/B"), "yes");
}

TEST_F(AwsQueryTest, ComesBackWhenItIsThrottled) {
  for (const HttpResponse& busy :
       {Refusal(400, "Throttling", "Rate exceeded"), Refusal(503, "RequestLimitExceeded", "slow"),
        Refusal(400, "ThrottlingException", ""), HttpResponse{.status = 500}}) {
    seen_.clear();
    play_ = [this, busy](const HttpRequest&) {
      return seen_.size() < 3 ? busy : HttpResponse{.body = kGroups};
    };
    EXPECT_TRUE(Call()) << busy.body;
    EXPECT_EQ(seen_.size(), 3U);
  }
}

TEST_F(AwsQueryTest, GivesUpAfterItsTriesAndSaysWhy) {
  const Error error = ErrorFor(Refusal(400, "Throttling", "Rate exceeded"));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_EQ(error.reason, "Throttling: Rate exceeded");
  EXPECT_EQ(seen_.size(), 5U);
}

TEST_F(AwsQueryTest, GivesUpWhenItsTimeIsOver) {
  limits_.tries = 1'000'000;
  limits_.longest_wait = std::chrono::milliseconds(2);
  limits_.whole = std::chrono::seconds(100);
  play_ = [this](const HttpRequest&) {
    loop_.Skip(std::chrono::seconds(10));
    return HttpResponse{.status = 503};
  };
  const auto got = Call();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
  // The tenth is answered when the time is over, or an earlier one if the machine is slow.
  EXPECT_LE(seen_.size(), 10U);
  EXPECT_GE(seen_.size(), 2U);
}

TEST_F(AwsQueryTest, KeepsTheCodeOfWhatAwsRefuses) {
  const Error wrong = ErrorFor(Refusal(400, "ValidationError", "name not found - no group"));
  EXPECT_EQ(wrong.code, Code::kInvalid);
  EXPECT_TRUE(IsAwsError(wrong, "ValidationError"));
  EXPECT_FALSE(IsAwsError(wrong, "Validation"));
  EXPECT_EQ(wrong.reason, "ValidationError: name not found - no group");
  EXPECT_EQ(ErrorFor(Refusal(400, "AlreadyExists", "it is")).code, Code::kConflict);
  EXPECT_EQ(ErrorFor(Refusal(400, "LimitExceeded", "quota")).code, Code::kExhausted);
  EXPECT_EQ(seen_.size(), 3U);
}

TEST_F(AwsQueryTest, TellsWhoMayNotAsk) {
  for (const auto& [status, code] : {std::pair(403, "AccessDenied"),
                                     {400, "AuthFailure"},
                                     {403, "UnauthorizedOperation"},
                                     {403, "InvalidClientTokenId"},
                                     {400, "ExpiredToken"},
                                     {403, ""}}) {
    EXPECT_EQ(ErrorFor(Refusal(status, code, "")).code, Code::kForbidden) << code;
  }
  world_.environment.erase("AWS_ACCESS_KEY_ID");
  query_.reset();
  EXPECT_EQ(Call().error().code, Code::kNobody);
}

TEST_F(AwsQueryTest, ReadsTheErrorsOfEc2) {
  const Error error = ErrorFor(
      {.status = 400,
       .body = "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>The "
               "instance ID 'i-1' does not exist</Message></Error></Errors></Response>"});
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_TRUE(IsAwsError(error, "InvalidInstanceID.NotFound"));
}

TEST_F(AwsQueryTest, FollowsPagesOfBothKindsUntilTheLast) {
  for (const auto& [before, after] :
       {std::pair("<R><nextToken>", "</nextToken></R>"),
        {"<R><ListResult><NextToken>", "</NextToken></ListResult></R>"}}) {
    std::vector<std::string> bodies;
    play_ = [&](const HttpRequest& request) -> HttpResponse {
      bodies.push_back(request.body);
      const std::string next = bodies.size() < 3 ? std::to_string(bodies.size()) + "=" : "";
      return {.body = before + next + after};
    };
    const auto got = Await<std::vector<XmlElement>>([&](auto done) {
      query().Pages({.service = "autoscaling", .region = "eu-west-1", .name = "List"}, done);
    });
    ASSERT_TRUE(got) << got.error().reason;
    EXPECT_EQ(got->size(), 3U);
    EXPECT_EQ(bodies, (std::vector<std::string>{"Action=List&Version=2011-01-01",
                                                "Action=List&Version=2011-01-01&NextToken=1%3D",
                                                "Action=List&Version=2011-01-01&NextToken=2%3D"}));
  }
}

TEST_F(AwsQueryTest, FollowsNoEndlessPages) {
  limits_.pages = 3;
  play_ = [](const HttpRequest&) -> HttpResponse {
    return {.body = "<R><nextToken>again</nextToken></R>"};
  };
  const auto got = Await<std::vector<XmlElement>>([&](auto done) {
    query().Pages({.service = "autoscaling", .region = "eu-west-1", .name = "List"}, done);
  });
  EXPECT_EQ(got.error().code, Code::kExhausted);
  EXPECT_EQ(seen_.size(), 3U);
}

TEST_F(AwsQueryTest, CallsNoMoreOftenThanItsBucketAllows) {
  limits_.burst = 2;
  limits_.calls_a_second = 50;
  play_ = [](const HttpRequest&) -> HttpResponse { return {.body = kGroups}; };
  const TimePoint before = loop_.Now();
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(Call());
  EXPECT_GE(loop_.Now() - before, std::chrono::milliseconds(80));
}

TEST_F(AwsQueryTest, RefusesACallForWhichTooManyWait) {
  limits_.burst = 1;
  limits_.calls_a_second = 0.001;
  play_ = [](const HttpRequest&) -> HttpResponse { return {.body = kGroups}; };
  EXPECT_TRUE(Call());
  EXPECT_EQ(Call().error().code, Code::kUnavailable);
}

TEST_F(AwsQueryTest, ShowsItsKeysToNobodyInClearText) {
  world_.environment["AWS_ENDPOINT_URL_AUTOSCALING"] = "http://192.0.2.1";
  EXPECT_EQ(Call().error().reason, "the endpoint of autoscaling must be https://");
  for (const char* region : {"", "a.evil.example", "a/b"}) {
    EXPECT_EQ(Call({.service = "ec2", .region = region, .name = "X"}).error().code, Code::kInvalid);
  }
}

class AwsQueryMotoTest : public AwsQueryTest {
 protected:
  AwsQueryMotoTest() {
    const char* const url = getenv("TIDEMILL_TEST_AWS");
    if (url == nullptr) throw std::runtime_error("run under tools/with_moto.py");
    world_.environment.erase("AWS_ENDPOINT_URL_AUTOSCALING");
    world_.environment["AWS_ENDPOINT_URL"] = url;
  }
};

TEST_F(AwsQueryMotoTest, IsUnderstoodByThreeServices) {
  const auto who = Call({.service = "sts", .region = "eu-west-1", .name = "GetCallerIdentity"});
  ASSERT_TRUE(who) << who.error().reason;
  EXPECT_EQ(who->At("GetCallerIdentityResult/Account"), "123456789012");
  EXPECT_TRUE(Call());
  const auto none = Call({.service = "ec2",
                          .region = "eu-west-1",
                          .name = "DescribeInstances",
                          .params = {{"InstanceId.1", "i-0123456789abcdef0"}}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound) << none.error().reason;
}

}  // namespace
}  // namespace tidemill
