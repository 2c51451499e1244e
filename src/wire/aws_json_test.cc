// SPDX-License-Identifier: Apache-2.0
#include "wire/aws_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(AwsPoolJson, IsRead) {
  EXPECT_EQ(*ParseAwsPool(""), AwsPool());
  EXPECT_EQ(*ParseAwsPool(R"({"region":"eu-west-1","types":["m7i.large","m7g.large"],
      "image":{"x86_64":"ami-1","m7g.large":"ami-2"},"disk_gb":80,"subnets":["subnet-1"],
      "security_groups":["sg-1"],"key":"ops","role":"worker","user_data":"#!/bin/sh\nx\n",
      "spot_percent":70,"tags":{"team":"a","empty":""}})"),
            (AwsPool{.region = "eu-west-1",
                     .types = {"m7i.large", "m7g.large"},
                     .images = {{"x86_64", "ami-1"}, {"m7g.large", "ami-2"}},
                     .disk_gb = 80,
                     .subnets = {"subnet-1"},
                     .security_groups = {"sg-1"},
                     .key = "ops",
                     .role = "worker",
                     .user_data = "#!/bin/sh\nx\n",
                     .spot_percent = 70,
                     .tags = {{"team", "a"}, {"empty", ""}}}));
  EXPECT_EQ(ParseAwsPool(R"({"image":"ami-1"})")->images,
            (std::map<std::string, std::string>{{"", "ami-1"}}));
  EXPECT_EQ(ParseAwsPool(R"({"group":"g","region":"eu-west-1"})")->group, "g");
}

TEST(AwsPoolJson, IsRefusedWithAReason) {
  for (const char* wrong :
       {"[]", "{", R"({"zone":"a"})", R"({"types":"m7i.large"})", R"({"types":[""]})",
        R"({"types":["a,b"]})", R"({"image":3})", R"({"image":{"":"ami-1"}})",
        R"({"image":{"arm64":""}})", R"({"disk_gb":0})", R"({"subnets":[1]})",
        R"({"spot_percent":101})", R"({"tags":{"aws:x":"y"}})", R"({"tags":{"tidemill-pool":"y"}})",
        R"({"tags":[]})", R"({"tags":{"a b":"y"}})", R"({"tags":{"":"y"}})", R"({"user_data":7})",
        R"({"group":"g","types":["m7i.large"]})"}) {
    const auto read = ParseAwsPool(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_NE(read.error().reason, "") << wrong;
  }
  EXPECT_NE(ParseAwsPool(R"({"subnet":["a"]})").error().reason.find("subnets"), std::string::npos);
}

}  // namespace
}  // namespace tidemill
