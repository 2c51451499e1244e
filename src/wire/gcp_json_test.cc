// SPDX-License-Identifier: Apache-2.0
#include "wire/gcp_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(GcpPoolJson, IsReadWhole) {
  const auto pool = ParseGcpPool(R"({"project":"acme-batch","zone":"europe-west4-a",
      "type":"g2-standard-8","image":"projects/debian-cloud/global/images/family/debian-12",
      "disk_gb":100,"network":"batch","subnet":"regions/europe-west4/subnetworks/machines",
      "service_account":"agents@acme-batch.iam.gserviceaccount.com",
      "scopes":["https://www.googleapis.com/auth/devstorage.read_write"],
      "user_data":"#cloud-config\nruncmd: []\n","labels":{"team":"films"},
      "accelerators":{"type":"nvidia-l4","count":2}})");
  ASSERT_TRUE(pool) << pool.error().reason;
  EXPECT_EQ(pool->project, "acme-batch");
  EXPECT_EQ(pool->zone, "europe-west4-a");
  EXPECT_EQ(pool->type, "g2-standard-8");
  EXPECT_EQ(pool->disk_gb, 100);
  EXPECT_EQ(pool->user_data, "#cloud-config\nruncmd: []\n");
  EXPECT_EQ(pool->labels.at("team"), "films");
  EXPECT_EQ(pool->scopes.size(), 1U);
  EXPECT_EQ(pool->accelerator_type, "nvidia-l4");
  EXPECT_EQ(pool->accelerator_count, 2);
}

TEST(GcpPoolJson, AGroupThatIsThereNeedsItsPlaceOnly) {
  const auto pool = ParseGcpPool(R"({"project":"acme","zone":"a-1","group":"mine"})");
  ASSERT_TRUE(pool) << pool.error().reason;
  EXPECT_EQ(pool->group, "mine");
  EXPECT_FALSE(ParseGcpPool(R"({"project":"acme","zone":"a-1","group":"mine","type":"e2"})"));
}

TEST(GcpPoolJson, WhatIsWrongIsNamed) {
  const std::string good = R"("project":"acme","zone":"a-1","type":"e2","image":"i")";
  ASSERT_TRUE(ParseGcpPool("{" + good + "}"));
  struct Wrong {
    std::string text;
    std::string words;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {"", "project"},
           {R"({"project":"acme"})", "zone"},
           {R"({"project":"acme","zone":"a-1","image":"i"})", "type"},
           {R"({"project":"acme","zone":"a-1","type":"e2"})", "image"},
           {R"({"project":"../x","zone":"a-1","type":"e2","image":"i"})", "project"},
           {R"({"project":"acme","zone":"a/b","type":"e2","image":"i"})", "zone"},
           {"{" + good + R"(,"zones":["a"]})", "zones"},
           {"{" + good + R"(,"disk_gb":0})", "disk_gb"},
           {"{" + good + R"(,"network":"a b"})", "network"},
           {"{" + good + R"(,"scopes":["cloud-platform"]})", "scopes"},
           {"{" + good + R"(,"labels":{"Team":"x"}})", "Team"},
           {"{" + good + R"(,"labels":{"tidemill-pool":"x"}})", "tidemill-pool"},
           {"{" + good + R"(,"accelerators":{"count":1}})", "accelerators.type"},
           {"{" + good + R"(,"user_data":")" + std::string(17'000, 'x') + R"("})", "user_data"}}) {
    const auto read = ParseGcpPool(wrong.text);
    ASSERT_FALSE(read) << wrong.text;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_NE(read.error().reason.find(wrong.words), std::string::npos) << read.error().reason;
  }
}

}  // namespace
}  // namespace tidemill
