// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "wire/spec_json.h"

namespace tidemill {
namespace {

std::string WhyNotField(const std::string& field) {
  const auto spec = ParseSpec("{" + field + "}");
  return spec ? "" : spec.error().reason;
}

JobSpec JobOf(const std::string& field) {
  const auto spec = ParseSpec("{" + field + "}");
  EXPECT_TRUE(spec) << spec.error().reason;
  return spec ? spec->job : JobSpec();
}

std::string WhyNotNeeds(const std::string& fields) {
  return WhyNotField("\"resources\":" + fields);
}

TEST(SpecNeeds, AWordTakesAWholeMachine) {
  const Resources whole{0, 0, {{"machine", 1}}};
  EXPECT_EQ(JobOf(R"("resources":"machine")").resources, whole);
  EXPECT_EQ(WhyNotNeeds(R"("all")"),
            "resources: write {cpus: 2, memory: 4GiB}, or the word 'machine' for all of one");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"machine":1}})"),
            "resources.devices: for all of a machine write 'resources: machine'");
  EXPECT_EQ(WhyNotNeeds("7"), "resources: must be an object, not a number");
}

TEST(SpecNeeds, MemoryIsOneSizeOrAStartAndAnEnd) {
  EXPECT_EQ(JobOf(R"("resources":{"memory":"2GiB"})").memory_max, 0);
  const JobSpec grows = JobOf(R"("resources":{"memory":{"start":"1KiB","max":4096}})");
  EXPECT_EQ(grows.resources.memory_bytes, 1024);
  EXPECT_EQ(grows.memory_max, 4096);
  constexpr std::string_view kNeedsBoth =
      "resources.memory: write both, as in {start: 2GiB, max: 16GiB}, or one size";
  EXPECT_EQ(WhyNotNeeds(R"({"memory":{"start":"2GiB"}})"), kNeedsBoth);
  EXPECT_EQ(WhyNotNeeds(R"({"memory":{"max":"2GiB"}})"), kNeedsBoth);
  EXPECT_EQ(WhyNotNeeds(R"({"memory":{"start":0,"max":"2GiB"}})"), kNeedsBoth);
  EXPECT_EQ(WhyNotNeeds(R"({"memory":{"start":"4GiB","max":"2GiB"}})"),
            "resources.memory.max: must not be less than 'start'");
  EXPECT_EQ(WhyNotNeeds(R"({"memory":{"start":"4GiB","most":"8GiB"}})"),
            "resources.memory: unknown field 'most'; known are 'start' 'max'");
  EXPECT_EQ(WhyNotNeeds(R"({"memory":{"start":"4G","max":"8GiB"}})"),
            "resources.memory.start: must be a size such as \"4GiB\"");
  EXPECT_NE(WhyNotNeeds(R"({"memory":[1]})"), "");
}

TEST(SpecNeeds, DevicesAreKindsAndNumbers) {
  const Devices devices{{"a", 1}, {"nvidia.com/gpu", 8}};
  EXPECT_EQ(JobOf(R"("resources":{"devices":{"nvidia.com/gpu":8,"a":1}})").resources.devices,
            devices);
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"a b":1}})"),
            "resources.devices: \"a b\" is no kind of device; write one such as nvidia.com/gpu");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"a":0}})"), "resources.devices.a: must be from 1 to 1000");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":["a"]})"),
            "resources.devices: must be an object, not an array");
  std::string many = "\"k0\":1";
  for (int i = 1; i < 16; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  EXPECT_EQ(WhyNotNeeds("{\"devices\":{" + many + "}}"), "");
  EXPECT_EQ(WhyNotNeeds("{\"devices\":{" + many + ",\"k\":1}}"),
            "resources.devices: has more than 16 kinds");
}

TEST(SpecNeeds, DevicesMayHaveToBeMoreThanOfAKind) {
  DeviceCount gpu = 2;
  gpu.model = "A10G";
  gpu.memory = std::int64_t{20} << 30;
  gpu.version = 12002;
  EXPECT_EQ(JobOf(R"("resources":{"devices":{"g":{"count":2,"model":"A10G","memory":"20GiB",)"
                  R"("version":"12.2"}}})")
                .resources.devices,
            (Devices{{"g", gpu}}));
  EXPECT_EQ(JobOf(R"("resources":{"devices":{"g":{}}})").resources.devices, (Devices{{"g", 1}}));
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"g":{"version":12.2}}})"),
            "resources.devices.g.version: must be a version in quotes, such as \"12.2\"");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"g":{"model":"a,b"}}})"),
            "resources.devices.g.model: must be words such as A10G, without commas");
  EXPECT_NE(WhyNotNeeds(R"({"devices":{"g":{"size":1}}})").find("size"), std::string::npos);
}

TEST(SpecNeeds, DevicesMayBeAskedForByName) {
  DeviceCount gpu = 2;
  gpu.ids = {"0", "GPU-8:1"};
  EXPECT_EQ(JobOf(R"("resources":{"devices":{"g":{"ids":["0","GPU-8:1"]}}})").resources.devices,
            (Devices{{"g", gpu}}));
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"g":{"count":2,"ids":["0","1"]}}})"), "");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"g":{"count":3,"ids":["0","1"]}}})"),
            "resources.devices.g: counts more than it names");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"g":{"count":1,"ids":["0","1"]}}})"),
            "resources.devices: g counts fewer than it names");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"g":{"ids":["0","0"]}}})"),
            "resources.devices.g.ids: has \"0\" twice");
  EXPECT_EQ(WhyNotNeeds(R"({"devices":{"g":{"ids":[]}}})"),
            "resources.devices.g.ids: must name at least one");
  for (const char* wrong : {"0", "[0]", R"(["a,b"])", R"(["a b"])", R"(["/dev/x"])", R"([""])"}) {
    EXPECT_NE(WhyNotNeeds(std::string(R"({"devices":{"g":{"ids":)") + wrong + "}}}"), "") << wrong;
  }
}

TEST(SpecNeeds, AllDevicesComeWithTheMachine) {
  const Resources needs = JobOf(R"("resources":{"cpus":2,"devices":{"g":"all"}})").resources;
  EXPECT_TRUE(WantsWholeMachine(needs));
  EXPECT_EQ(needs.millicpus, 2000);
  EXPECT_EQ(needs.devices, (Devices{{"g", 1}, {"machine", 1}}));
  EXPECT_NE(WhyNotNeeds(R"({"devices":{"g":"some"}})"), "");
}

TEST(SpecNeeds, RetryRulesAreExitCodes) {
  EXPECT_EQ(WhyNotField(R"("retry":3)"), "retry: for how often, write 'retries'");
  EXPECT_EQ(WhyNotField(R"("retry":{"on":[0]})"), "retry.on[0]: must be from 1 to 255");
  EXPECT_EQ(WhyNotField(R"("retry":{"on":[]})"),
            "retry.on: must not be empty; leave it away for no such rule");
  EXPECT_EQ(WhyNotField(R"("retry":{"on":[1,7],"never":[2,7]})"),
            "retry.never: the exit code 7 stands in 'on' too; remove one");
  EXPECT_EQ(WhyNotField(R"("retry":{"on":75})"), "retry.on: must be an array, not a number");
  EXPECT_EQ(WhyNotField(R"("retry":{"wait":"6m"})"), "retry.wait: must be from 0 to 5 minutes");
  EXPECT_EQ(WhyNotField(R"("retry":{"delay":1})"),
            "retry: unknown field 'delay'; known are 'on' 'never' 'wait'");
  EXPECT_EQ(JobOf(R"("retry":{"wait":0})").retry_wait, std::chrono::milliseconds(0));
}

TEST(SpecNeeds, TheCanaryCanBeTurnedOff) {
  EXPECT_EQ(JobOf(R"("canary":0)").canary, 0);
  EXPECT_EQ(JobOf(R"("canary":false)").canary, 0);
  EXPECT_EQ(JobOf(R"("canary":3)").canary, 3);
  EXPECT_EQ(WhyNotField(R"("canary":true)"),
            "canary: write how many attempts, such as 20; false for none");
  EXPECT_EQ(WhyNotField(R"("canary":-1)"), "canary: must be from 0 to 2048");
}

}  // namespace
}  // namespace tidemill
