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
  EXPECT_EQ(version->runc, "");
  EXPECT_EQ(ParseDockerVersion(R"({"Version":"1","ApiVersion":"1.41","Components":
                [7,{"Name":"Engine","Version":"1"},{"Name":"runc","Version":"1.1.5"}]})")
                ->runc,
            "1.1.5");
  for (const char* bad : {"", "[]", "{}", R"({"Version":1,"ApiVersion":"1.41"})",
                          R"({"Version":"1","ApiVersion":"1.4111111111111111111111111"})"}) {
    EXPECT_FALSE(ParseDockerVersion(bad)) << bad;
  }
}

TEST(DockerJson, ReadsWhatAnEngineCanDoWithDevices) {
  // As Docker 28 has it, and as Docker 20.10.
  auto info = ParseDockerInfo(
      R"({"SecurityOptions":["name=seccomp,profile=builtin","name=userns"],)"
      R"("DefaultRuntime":"runc",)"
      R"("Runtimes":{"io.containerd.runc.v2":{"path":"runc","status":{}},"runc":{"path":"runc"},)"
      R"("tidemill":{"path":"/usr/bin/tidemill-runtime"}},)"
      R"("CDISpecDirs":["/etc/cdi","/var/run/cdi"]})");
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->remaps_users);
  EXPECT_EQ(info->cdi_folders, (Words{"/etc/cdi", "/var/run/cdi"}));
  EXPECT_EQ(info->runtimes, (Words{"io.containerd.runc.v2", "runc", "tidemill"}));
  EXPECT_EQ(info->default_runtime, "runc");
  info = ParseDockerInfo(R"({"Runtimes":{"runc":{"path":"runc"}},"CDISpecDirs":null})");
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->cdi_folders.empty());
  EXPECT_EQ(info->runtimes, Words{"runc"});
  for (const char* bad : {R"({"Runtimes":["runc"]})", R"({"CDISpecDirs":"/etc/cdi"})"}) {
    EXPECT_FALSE(ParseDockerInfo(bad)) << bad;
  }
}

TEST(DockerJson, AsksForDevicesInTheWaysThatAnEngineKnows) {
  DockerCreate create;
  create.image = "i";
  create.device_requests = {{"cdi", {"a.b/c=0", "a.b/c=1"}}, {"nvidia", {"GPU-1"}, true}};
  create.runtime = "tidemill";
  create.env = {"TIDEMILL_CDI=a.b/c=0"};
  const auto body = json::Parse(FormatDockerCreate(create));
  ASSERT_TRUE(body);
  const json::Value& host = body->at("HostConfig");
  EXPECT_EQ(host.at("DeviceRequests").dump(),
            R"([{"DeviceIDs":["a.b/c=0","a.b/c=1"],"Driver":"cdi"},)"
            R"({"Capabilities":[["gpu"]],"DeviceIDs":["GPU-1"],"Driver":"nvidia"}])");
  EXPECT_EQ(host.at("Runtime"), "tidemill");
  EXPECT_EQ(body->at("Env").dump(), R"(["TIDEMILL_CDI=a.b/c=0"])");
  DockerCreate bare;
  bare.image = "i";
  const auto plain = json::Parse(FormatDockerCreate(bare));
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->contains("Env"));
  for (const char* absent : {"DeviceRequests", "Runtime", "Devices"}) {
    EXPECT_FALSE(plain->at("HostConfig").contains(absent)) << absent;
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

TEST(DockerJson, ReadsTheLinesOfAPull) {
  const auto line = ParseDockerPullLine(
      R"({"status":"Downloading","progressDetail":{"current":32768,"total":3145728},)"
      R"("progress":"[>     ]","id":"b2b03e9146e1"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->status, "Downloading");
  EXPECT_EQ(line->layer, "b2b03e9146e1");
  EXPECT_EQ(line->current, 32768);
  EXPECT_EQ(line->total, 3145728);
  EXPECT_EQ(line->error, std::nullopt);
  const auto failed = ParseDockerPullLine(R"({"errorDetail":{"message":"m"},"error":"m"})");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->error, "m");
  for (const char* odd : {"garbage", "", "[]", "3", "{"}) EXPECT_FALSE(ParseDockerPullLine(odd));
}

TEST(DockerJson, BelievesNoOddNumberOfAPull) {
  for (const char* detail :
       {"{}", "null", "3", R"({"current":-1,"total":-1})", R"({"current":"3","total":[]})",
        R"({"current":18446744073709551615,"total":18446744073709551615})",
        R"({"current":1e300,"total":0.5})"}) {
    const auto line = ParseDockerPullLine(R"({"status":"Downloading","id":"a","progressDetail":)" +
                                          std::string(detail) + "}");
    ASSERT_TRUE(line) << detail;
    EXPECT_EQ(line->current, 0) << detail;
    EXPECT_EQ(line->total, 0) << detail;
  }
}

TEST(DockerJson, WritesALogin) {
  const auto value = json::Parse(FormatDockerAuth({"me", "a\"b:c", "h:5000"}));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->dump(), R"({"password":"a\"b:c","serveraddress":"h:5000","username":"me"})");
}

TEST(DockerJson, WritesAContainer) {
  DockerCreate create;
  create.image = "sha256:1";
  create.entrypoint = {"/init"};
  create.command = {"--a", "b\"c"};
  create.labels = {{"l", "v"}};
  create.mounts = {{"/from:here", "/to", true}};
  create.work_folder = "/to";
  create.pids = 10;
  auto value = json::Parse(FormatDockerCreate(create));
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["Cmd"][1], "b\"c");
  EXPECT_EQ((*value)["Healthcheck"]["Test"][0], "NONE");
  const auto& host = (*value)["HostConfig"];
  EXPECT_EQ(host["Mounts"][0]["Source"], "/from:here");
  EXPECT_EQ(host["Mounts"][0]["ReadOnly"], true);
  EXPECT_EQ((*value)["WorkingDir"], "/to");
  EXPECT_EQ(host["PidsLimit"], 10);
  EXPECT_EQ(host["CapDrop"], (json::Value{"NET_RAW", "MKNOD"}));
  EXPECT_EQ(host["Ulimits"][0]["Name"], "core");
  for (const char* absent :
       {"Memory", "MemorySwap", "NanoCpus", "ShmSize", "ReadonlyRootfs", "Tmpfs"}) {
    EXPECT_FALSE(host.contains(absent)) << absent;
  }
  EXPECT_EQ(host["Privileged"], false);
  EXPECT_EQ(host["IpcMode"], "private");
  EXPECT_EQ(host["CgroupnsMode"], "private");
  create.memory_bytes = 7;
  create.tmpfs = {{"/x", "size=1m"}};
  create.no_capabilities = true;
  create.read_only_root = true;
  create.tmp_bytes = 9;
  create.network = "none";
  value = json::Parse(FormatDockerCreate(create));
  EXPECT_EQ((*value)["HostConfig"]["Memory"], 7);
  EXPECT_EQ((*value)["HostConfig"]["MemorySwap"], 7);
  EXPECT_EQ((*value)["HostConfig"]["CapDrop"], json::Value::array({"ALL"}));
  EXPECT_EQ((*value)["HostConfig"]["ReadonlyRootfs"], true);
  EXPECT_EQ((*value)["HostConfig"]["NetworkMode"], "none");
  EXPECT_EQ((*value)["HostConfig"]["Tmpfs"]["/x"], "size=1m");
  const std::string tmp = (*value)["HostConfig"]["Tmpfs"]["/tmp"];
  EXPECT_NE(tmp.find("size=9"), std::string::npos);
}

TEST(DockerJson, AMountIsAFolderOrAVolumeThatTheEngineMakes) {
  DockerCreate create;
  create.mounts = {{"/a", "/b", false},
                   {.source = "v", .target = "/c", .volume = {{"type", "nfs"}, {"o", "addr=d"}}}};
  const auto value = json::Parse(FormatDockerCreate(create));
  ASSERT_TRUE(value);
  const auto& mounts = (*value)["HostConfig"]["Mounts"];
  EXPECT_EQ(mounts[0]["Type"], "bind");
  EXPECT_EQ(mounts[0]["ReadOnly"], false);
  EXPECT_EQ(mounts[0]["BindOptions"]["NonRecursive"], true);
  EXPECT_EQ(mounts[1]["Type"], "volume");
  EXPECT_EQ(mounts[1]["Source"], "v");
  EXPECT_EQ(mounts[1]["ReadOnly"], true);
  EXPECT_EQ(mounts[1]["VolumeOptions"]["NoCopy"], true);
  const auto& driver = mounts[1]["VolumeOptions"]["DriverConfig"];
  EXPECT_EQ(driver["Name"], "local");
  EXPECT_EQ(driver["Options"], (json::Value{{"type", "nfs"}, {"o", "addr=d"}}));
}

TEST(DockerJson, ReadsAndWritesANetwork) {
  const DockerNetwork ours{.bridge = "b0", .keeps_apart = true};
  const auto value = json::Parse(FormatDockerNetwork("n", ours));
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["Name"], "n");
  EXPECT_EQ(*ParseDockerNetwork(value->dump()), ours);
  EXPECT_EQ(*ParseDockerNetwork(R"({"Driver":"bridge","Options":{}})"), DockerNetwork{});
  EXPECT_EQ(*ParseDockerNetwork(R"({"Driver":"bridge","Options":null})"), DockerNetwork{});
  EXPECT_EQ(*ParseDockerNetwork(
                R"({"Driver":"macvlan","Options":{"com.docker.network.bridge.name":"b0"}})"),
            DockerNetwork{});
  for (const char* bad :
       {"", "[]", "{}", R"({"Driver":1})", R"({"Driver":"bridge","Options":1})"}) {
    EXPECT_FALSE(ParseDockerNetwork(bad)) << bad;
  }
}

TEST(DockerJson, ReadsWhatAnEngineCanDo) {
  auto info = ParseDockerInfo(R"({"SecurityOptions":["name=seccomp,profile=default"]})");
  ASSERT_TRUE(info);
  EXPECT_FALSE(info->remaps_users || info->rootless);
  info = ParseDockerInfo(R"({"SecurityOptions":["name=userns","name=rootless"]})");
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->remaps_users && info->rootless);
  EXPECT_TRUE(ParseDockerInfo("{}"));
  EXPECT_FALSE(ParseDockerInfo(R"({"SecurityOptions":"name=userns"})"));
}

TEST(DockerJson, WritesAFilter) {
  EXPECT_EQ(FormatDockerLabelFilter("a", "b\"c"), R"({"label":["a=b\"c"]})");
}

}  // namespace
}  // namespace tidemill
