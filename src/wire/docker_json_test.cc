// SPDX-License-Identifier: Apache-2.0
#include "wire/docker_json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wire/json.h"

namespace tidemill {
namespace {

using Words = std::vector<std::string>;

TEST(DockerJson, ReadsAVersionAndPassesOverTheRest) {
  const auto version =
      ParseDockerVersion(R"({"Platform":{"Name":""},"Version":"20.10.24","ApiVersion":"1.41"})");
  ASSERT_TRUE(version);
  EXPECT_EQ(version->version, "20.10.24");
  EXPECT_EQ(version->api_version, "1.41");
  for (const char* bad : {"", "[]", "{}", R"({"Version":1,"ApiVersion":"1.41"})",
                          R"({"Version":"1","ApiVersion":"1.4111111111111111111111111"})"}) {
    EXPECT_FALSE(ParseDockerVersion(bad)) << bad;
  }
}

TEST(DockerJson, ReadsWhatAnImageRuns) {
  auto image = ParseDockerImage(
      R"({"Id":"sha256:1","Config":{"Entrypoint":["a","b\n"],"Cmd":null,"User":"x"}})");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->id, "sha256:1");
  EXPECT_EQ(image->entrypoint, (Words{"a", "b\n"}));
  EXPECT_EQ(image->command, Words{});
  image = ParseDockerImage(R"({"Id":"sha256:1","Config":null})");
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->entrypoint.empty());
  for (const char* bad : {"{}", R"({"Id":"x","Config":[]})", R"({"Id":"x","Config":{"Cmd":"a"}})",
                          R"({"Id":"x","Config":{"Cmd":[1]}})"}) {
    EXPECT_FALSE(ParseDockerImage(bad)) << bad;
  }
}

TEST(DockerJson, ReadsTheStateOfAContainer) {
  const auto state = ParseDockerState(
      R"({"Id":"x","State":{"Running":true,"Pid":12,"ExitCode":0,"OOMKilled":true,"Error":"e"}})");
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->running);
  EXPECT_EQ(state->pid, 12);
  EXPECT_TRUE(state->out_of_memory);
  EXPECT_EQ(state->error, "e");
  for (const char* bad :
       {"{}", R"({"State":{}})", R"({"State":{"Running":true,"Pid":-1,"ExitCode":0}})",
        R"({"State":{"Running":true,"Pid":99999999999,"ExitCode":0}})"}) {
    EXPECT_FALSE(ParseDockerState(bad)) << bad;
  }
}

TEST(DockerJson, ReadsNamesWithoutTheirSlash) {
  const auto names = ParseDockerNames(R"([{"Id":"a","Names":["/x","/y"]},{"Id":"b","Names":[]}])");
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (Words{"x", "b"}));
  EXPECT_EQ(*ParseDockerNames("[]"), Words{});
  EXPECT_FALSE(ParseDockerNames("{}"));
  EXPECT_FALSE(ParseDockerNames(R"([{"Names":["/x"]}])"));
  std::string many = "[";
  for (std::size_t i = 0; i <= kDockerContainersMost; ++i) many += i ? ",0" : "0";
  EXPECT_FALSE(ParseDockerNames(many + "]"));
}

TEST(DockerJson, FindsTheSentenceInAnError) {
  EXPECT_EQ(DockerMessage(R"({"message":"no such image"})"), "no such image");
  EXPECT_EQ(DockerMessage("404 page not found"), "404 page not found");
  EXPECT_EQ(DockerMessage(R"({"message":7})"), R"({"message":7})");
  EXPECT_LE(DockerMessage(std::string(100'000, 'x')).size(), 1000u);
}

TEST(DockerJson, FindsTheErrorOfAPull) {
  EXPECT_EQ(DockerPullError(R"({"status":"Pulling","progressDetail":{}})"), std::nullopt);
  EXPECT_EQ(DockerPullError(R"({"errorDetail":{"message":"m"},"error":"m"})"), "m");
  EXPECT_EQ(DockerPullError("garbage"), std::nullopt);
  EXPECT_EQ(DockerPullError(""), std::nullopt);
}

TEST(DockerJson, WritesAContainer) {
  DockerCreate create;
  create.image = "sha256:1";
  create.entrypoint = {"/init"};
  create.command = {"--a", "b\"c"};
  create.labels = {{"l", "v"}};
  create.mounts = {{"/from:here", "/to", true}};
  create.pids = 10;
  auto value = json::Parse(FormatDockerCreate(create));
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["Cmd"][1], "b\"c");
  EXPECT_EQ((*value)["Healthcheck"]["Test"][0], "NONE");
  const auto& host = (*value)["HostConfig"];
  EXPECT_EQ(host["Mounts"][0]["Source"], "/from:here");
  EXPECT_EQ(host["Mounts"][0]["ReadOnly"], true);
  EXPECT_EQ(host["PidsLimit"], 10);
  EXPECT_EQ(host["CapDrop"], (json::Value{"NET_RAW", "MKNOD"}));
  EXPECT_EQ(host["Ulimits"][0]["Name"], "core");
  for (const char* absent : {"Memory", "MemorySwap", "NanoCpus", "ShmSize", "Privileged"}) {
    EXPECT_FALSE(host.contains(absent)) << absent;
  }
  create.memory_bytes = 7;
  value = json::Parse(FormatDockerCreate(create));
  EXPECT_EQ((*value)["HostConfig"]["Memory"], 7);
  EXPECT_EQ((*value)["HostConfig"]["MemorySwap"], 7);
}

TEST(DockerJson, WritesAFilter) {
  EXPECT_EQ(FormatDockerLabelFilter("a", "b\"c"), R"({"label":["a=b\"c"]})");
}

}  // namespace
}  // namespace tidemill
