// SPDX-License-Identifier: Apache-2.0
#include "cloud/aws_profile.h"

#include "cloud/cloud_fixture.h"

namespace tidemill {
namespace {

TEST(ParseIni, ReadsWhatTheToolsOfAwsRead) {
  const auto sections = ParseIni(
      "# comment\n; comment\n[default]\nregion = eu-west-1 # there\nkey=a#b\n\n"
      "[profile   dev ]\r\ns3 =\r\n  max_queue = 5\r\nregion=x\r\n");
  ASSERT_TRUE(sections) << sections.error().reason;
  EXPECT_EQ(sections->at("default").at("region"), "eu-west-1");
  EXPECT_EQ(sections->at("default").at("key"), "a#b");
  EXPECT_EQ(sections->at("profile dev").at("region"), "x");
  EXPECT_FALSE(sections->at("profile dev").contains("max_queue"));
}

TEST(ParseIni, NamesTheLineThatIsWrong) {
  for (const char* text : {"[a]\n\n[b\n", "[a]\nb=1\nword\n", "\n\nname = value\n"}) {
    const auto sections = ParseIni(text);
    ASSERT_FALSE(sections) << text;
    EXPECT_NE(sections.error().reason.find("line 3"), std::string::npos) << sections.error().reason;
  }
}

class AwsProfileTest : public CloudFixture {};

TEST_F(AwsProfileTest, JoinsBothFilesAndPrefersThatOfCredentials) {
  Write(".aws/credentials", "[dev]\naws_access_key_id = A\n[default]\naws_access_key_id = D\n");
  Write(".aws/config", "[profile dev]\nregion = eu-west-3\naws_access_key_id = B\n[default]\n");
  world_.environment["AWS_PROFILE"] = "dev";
  const auto profile = LoadAwsProfile(world_);
  ASSERT_TRUE(profile) << profile.error().reason;
  EXPECT_EQ(profile->Setting("aws_access_key_id"), "A");
  EXPECT_EQ(AwsRegion(world_, *profile), "eu-west-3");
  world_.environment["AWS_DEFAULT_REGION"] = "us-east-2";
  EXPECT_EQ(AwsRegion(world_, *profile), "us-east-2");
  world_.environment["AWS_REGION"] = "us-west-2";
  EXPECT_EQ(AwsRegion(world_, *profile), "us-west-2");
}

TEST_F(AwsProfileTest, NeedsTheProfileThatIsAskedFor) {
  const auto none = LoadAwsProfile(world_);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->exists);
  world_.environment["AWS_PROFILE"] = "dev";
  const auto profile = LoadAwsProfile(world_);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, Code::kInvalid);
  EXPECT_NE(profile.error().reason.find("'dev'"), std::string::npos) << profile.error().reason;
}

TEST_F(AwsProfileTest, TakesTheEndpointThatIsNearest) {
  Write("config", "[default]\nendpoint_url = http://a\n");
  world_.environment["AWS_CONFIG_FILE"] = "~/config";
  const auto profile = LoadAwsProfile(world_);
  ASSERT_TRUE(profile) << profile.error().reason;
  EXPECT_EQ(AwsEndpoint(world_, *profile, "S3"), "http://a");
  world_.environment["AWS_ENDPOINT_URL"] = "http://b";
  EXPECT_EQ(AwsEndpoint(world_, *profile, "S3"), "http://b");
  world_.environment["AWS_ENDPOINT_URL_S3"] = "http://c";
  EXPECT_EQ(AwsEndpoint(world_, *profile, "S3"), "http://c");
  EXPECT_EQ(AwsEndpoint(world_, *profile, "STS"), "http://b");
}

}  // namespace
}  // namespace tidemill
