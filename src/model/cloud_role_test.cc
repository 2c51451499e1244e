// SPDX-License-Identifier: Apache-2.0
#include "model/cloud_role.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

constexpr char kRender[] = "arn:aws:iam::123456789012:role/render";

TEST(CloudRole, IsOfOneCloudOrNone) {
  EXPECT_EQ(CloudOf(kRender), RoleCloud::kAws);
  EXPECT_EQ(CloudOf("arn:aws-us-gov:iam::123456789012:role/a/b/Render_1+=,.@-"), RoleCloud::kAws);
  EXPECT_EQ(CloudOf("render-1@films-1.iam.gserviceaccount.com"), RoleCloud::kGoogle);
  for (const char* none :
       {"", "render", "arn:aws:iam::123456789012:user/render", "arn:aws:iam::12345678901:role/a",
        "arn:aws:iam::123456789012:role/", "arn:aws:iam::123456789012:role/a/",
        "arn:aws:iam::123456789012:role/a b", "arn:aws:iam::*:role/a",
        "arn:gcp:iam::123456789012:role/a", "arn:aws:s3::123456789012:role/a",
        "@films-1.iam.gserviceaccount.com", "render@iam.gserviceaccount.com",
        "render@a.b.iam.gserviceaccount.com", "render@gmail.com",
        "arn:aws:iam::123456789012:role/a\n"}) {
    EXPECT_EQ(CloudOf(none), RoleCloud::kNone) << none;
  }
  EXPECT_EQ(CloudOf(kRender + std::string(kCloudRoleBytes, 'a')), RoleCloud::kNone);
}

TEST(CloudRole, AProjectsPatternNamesItsAccount) {
  EXPECT_TRUE(IsCloudRolePattern(kRender));
  EXPECT_TRUE(IsCloudRolePattern("arn:aws:iam::123456789012:role/*"));
  EXPECT_TRUE(IsCloudRolePattern("arn:aws:iam::123456789012:role/films/*"));
  EXPECT_TRUE(IsCloudRolePattern("render@films-1.iam.gserviceaccount.com"));
  for (const char* wrong :
       {"*", "arn:aws:iam::*", "arn:aws:iam::123456789012:*", "arn:aws:iam::123456789012:role/*a",
        "*@films-1.iam.gserviceaccount.com", "render*", ""}) {
    EXPECT_FALSE(IsCloudRolePattern(wrong)) << wrong;
  }
}

TEST(CloudRole, IsAllowedByItsNameOrItsBeginning) {
  EXPECT_FALSE(MatchesAny({}, kRender));
  EXPECT_TRUE(MatchesAny({"x", kRender}, kRender));
  EXPECT_FALSE(MatchesAny({kRender}, kRender + std::string("2")));
  EXPECT_TRUE(MatchesAny({"arn:aws:iam::123456789012:role/r*"}, kRender));
  EXPECT_FALSE(MatchesAny({"arn:aws:iam::123456789013:role/*"}, kRender));
}

TEST(CloudRole, AreKeptAsLines) {
  const std::vector<std::string> roles = {kRender, "arn:aws:iam::123456789012:role/a*"};
  EXPECT_EQ(ParseCloudRoles(FormatCloudRoles(roles)), roles);
  EXPECT_TRUE(ParseCloudRoles("").empty());
}

}  // namespace
}  // namespace tidemill
