// SPDX-License-Identifier: Apache-2.0
#include "cloud/machine_end.h"

#include "cloud/cloud_fixture.h"

namespace tidemill {
namespace {

class MachineEndTest : public CloudFixture {
 protected:
  Result<void> End(const MachineSelf& self) {
    const auto end = EndByGroup(loop_, random_, world_, self);
    return Await<void>([&](auto done) { end->End(done); });
  }

  MachineSelf OfAws() {
    world_.environment["AWS_ACCESS_KEY_ID"] = "AK";
    world_.environment["AWS_SECRET_ACCESS_KEY"] = "SK";
    world_.environment["AWS_ENDPOINT_URL"] = Url();
    MachineSelf self;
    self.place = {.provider = "aws", .id = "i-0fe2", .region = "eu-west-1"};
    return self;
  }

  MachineSelf OfGoogle() {
    world_.environment["GCE_METADATA_HOST"] = Host();
    world_.environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"] = Url() + "/compute/v1/";
    MachineSelf self;
    self.place = {.provider = "gcp", .id = "4711", .name = "mill-x1", .zone = "us-central1-b"};
    self.group = "projects/1/zones/us-central1-b/instanceGroupManagers/mill";
    return self;
  }

  SeededRandom random_{1};
};

TEST_F(MachineEndTest, OfAwsAlsoLowersTheTargetOfItsGroup) {
  std::string form;
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    form = request.body;
    return {.body = "<R><Activity/></R>"};
  };
  EXPECT_TRUE(End(OfAws()));
  EXPECT_EQ(form,
            "Action=TerminateInstanceInAutoScalingGroup&Version=2011-01-01&InstanceId=i-0fe2"
            "&ShouldDecrementDesiredCapacity=true");
}

TEST_F(MachineEndTest, OfAwsInNoGroupIsAnError) {
  play_ = [](const HttpRequest&) -> HttpResponse {
    return {.status = 400,
            .body =
                "<ErrorResponse><Error><Code>ValidationError</Code><Message>Instance Id not "
                "found - No managed instance found</Message></Error></ErrorResponse>"};
  };
  EXPECT_FALSE(End(OfAws()));
}

TEST_F(MachineEndTest, OfGoogleNamesTheMachineToItsGroup) {
  std::string seen;
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    if (request.path.starts_with("/computeMetadata/")) {
      return {.body = R"({"access_token":"ya29","expires_in":3599})"};
    }
    if (HeaderOf(request, "Authorization") != "Bearer ya29") return {.status = 401};
    seen = request.method + " " + request.path + " " + request.body;
    return {.body = "{}"};
  };
  EXPECT_TRUE(End(OfGoogle()));
  EXPECT_EQ(seen,
            "POST /compute/v1/projects/1/zones/us-central1-b/instanceGroupManagers/mill/"
            R"(deleteInstances {"instances":["zones/us-central1-b/instances/mill-x1"]})");
}

TEST_F(MachineEndTest, OfGoogleThatMayNotOrHasNoGroupIsAnError) {
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    if (request.path.starts_with("/computeMetadata/")) {
      return {.body = R"({"access_token":"ya29","expires_in":3599})"};
    }
    return {.status = 403, .body = R"({"error":{"message":"Required permission"}})"};
  };
  MachineSelf self = OfGoogle();
  EXPECT_EQ(End(self).error().reason, "Google answers 403, Required permission");
  self.group.clear();
  EXPECT_EQ(End(self).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace tidemill
