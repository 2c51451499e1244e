// SPDX-License-Identifier: Apache-2.0
#include "wire/settings_json.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "wire/kept_spec_json.h"

namespace tidemill {
namespace {

constexpr const char* kSpot = R"({"provider": "aws", "shape": {"cpus": 4, "memory": "16GiB",
  "devices": {"nvidia.com/gpu": 1}}, "spot": true, "price": 0.1, "on_demand": 0.340001, "min": 1,
  "max": 64, "unit": "vcpus", "max_price": 60, "idle": "90s", "boot_limit": "3m",
  "billed_at_least": "10s",
  "labels": {"zone": "a", "empty": ""}, "steps": {"1": 1, "101": 2}, "disabled": true,
  "options": {"subnet": ["s-1"]}})";

TEST(SettingsJson, MachinesAreReadAndWrittenBack) {
  const auto spot = ParsePoolMachines(kSpot);
  ASSERT_TRUE(spot) << spot.error().reason;
  EXPECT_EQ(spot->provider, "aws");
  EXPECT_EQ(spot->shape, (Resources{4000, std::int64_t{16} << 30, {{"nvidia.com/gpu", 1}}}));
  EXPECT_TRUE(spot->spot);
  EXPECT_EQ(spot->price, Money{100'000});
  EXPECT_EQ(spot->on_demand, Money{340'001});
  EXPECT_EQ(std::pair(spot->min, spot->max), std::pair(std::int64_t{1}, std::int64_t{64}));
  EXPECT_EQ(spot->unit, SizeUnit::kVcpus);
  EXPECT_EQ(spot->max_price, 60);
  EXPECT_EQ(spot->idle, std::chrono::seconds(90));
  EXPECT_EQ(spot->boot_limit, std::chrono::minutes(3));
  EXPECT_EQ(spot->billed_at_least, std::chrono::seconds(10));
  EXPECT_EQ(spot->labels, (Labels{{"empty", ""}, {"zone", "a"}}));
  EXPECT_EQ(spot->steps, (Steps{{1, 1}, {101, 2}}));
  EXPECT_TRUE(spot->disabled);
  EXPECT_EQ(spot->options, R"({"subnet":["s-1"]})");
  EXPECT_EQ(*ParsePoolMachines(FormatPoolMachines(*spot)), *spot);
  const PoolMachines usual;
  EXPECT_EQ(*ParsePoolMachines("{}"), usual);
  EXPECT_EQ(*ParsePoolMachines(FormatPoolMachines(usual)), usual);
}

TEST(SettingsJson, PoolsQueuesAndSpecsAndBack) {
  const PoolSettings pool{{"", "spot", {.no_network = true}}, *ParsePoolMachines(kSpot)};
  EXPECT_EQ(ParsePools(FormatPools({pool}, {}, true))->rows, std::vector<PoolSettings>{pool});
  EXPECT_EQ(ParsePools(FormatPools({pool}, {}, true))->next, "spot");
  PoolNow now;
  now.machines = {1, 2, 3, 4};
  now.needed = 5;
  now.limit = 6;
  now.hold = "no_capacity";
  now.words = "none\nleft";
  now.tried = 7;
  now.again_ms = 1'777'636'985'007;
  now.never_joined = 2;
  const std::string answer = FormatPools({pool}, {{"spot", now}, {"other", {}}}, false);
  EXPECT_EQ(ParsePools(answer)->rows, std::vector<PoolSettings>{pool});
  now.words = "none left";
  EXPECT_EQ(*ParsePoolsNow(answer), (PoolsNow{{"spot", now}}));
  EXPECT_EQ(*ParsePoolsNow(FormatPools({pool}, {}, false)), PoolsNow());
  Queue queue;
  queue.name = "night";
  queue.priority = -5;
  queue.share = 0;
  queue.pools = {"b", "a"};
  queue.limits = {.machines = 0, .cost_an_hour = Money{2'500'000}, .running = 9};
  queue.disabled = true;
  EXPECT_EQ(ParseQueues(FormatQueues({queue}, false))->rows, std::vector<Queue>{queue});
  EXPECT_EQ(*ParseQueueBody(FormatQueueBody(queue), "night"), queue);
  EXPECT_EQ(ParseQueueBody("{}", "q")->limits, QueueLimits{});
  const KeptSpec spec{"render", 3, R"({"image":"a"})", "ann", 5};
  EXPECT_EQ(*ParseKeptSpec(FormatKeptSpec(spec)), spec);
  EXPECT_EQ(ParseKeptSpecs(FormatKeptSpecs({spec}, false))->rows, std::vector<KeptSpec>{spec});
  EXPECT_EQ(*ParseSpecToKeep(FormatSpecToKeep(spec.document)), spec.document);
}

TEST(SettingsJson, WrongMachinesAreRefusedWithTheirField) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"providr": "aws"})", "did you mean 'provider'?"},
      {R"({"provider": "azure"})", "provider: must be local, aws or gcp"},
      {R"({"provider": "aws"})", "shape: write what a machine has"},
      {R"({"shape": {"cpus": 1, "memry": 1}})", "did you mean 'memory'?"},
      {R"({"shape": {"memory": "much"}})", "shape.memory: must be a size"},
      {R"({"price": "0.3"})", "price: must be dollars an hour"},
      {R"({"price": -1})", "price: must be from 0"},
      {R"({"min": 2, "max": 1})", "min: must not be more than 'max'"},
      {R"({"unit": "cores"})", "unit: must be machines or vcpus"},
      {R"({"max_price": 0})", "max_price: must be from 1"},
      {R"({"idle": "soon"})", "idle: must be a time"},
      {R"({"boot_limit": 0})", "boot_limit: must be from 1 second"},
      {R"({"billed_at_least": "2d"})", "billed_at_least: must be from 0 to 1 day"},
      {R"({"labels": {"a b": "c"}})", "labels: \"a b\" is no name here"},
      {R"({"labels": {"a": "b\nc"}})", "labels.a: must not have control characters"},
      {R"({"steps": {"many": 1}})", "steps: write numbers"},
      {R"({"steps": {"1": -1}})", "steps.1: "},
      {R"({"options": "x"})", "options: must be an object"},
      {R"({"disabled": 1})", "disabled: must be true or false"},
  };
  for (const auto& [body, why] : wrong) {
    const auto read = ParsePoolMachines(body);
    ASSERT_FALSE(read) << body;
    EXPECT_NE(read.error().reason.find(why), std::string::npos) << read.error().reason;
  }
}

TEST(SettingsJson, WrongQueuesAreRefusedWithTheirField) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"priorty": 1})", "did you mean 'priority'?"},
      {R"({"share": -1})", "share: "},
      {R"({"pools": "a"})", "pools: must be an array"},
      {R"({"pools": ["a", "a"]})", "pools[1]: pool 'a' is named before"},
      {R"({"pools": ["a b"]})", "pools[0]: must be the name of a pool"},
      {R"({"limits": {"items": 1}})", "limits: unknown field 'items'"},
      {R"({"limits": {"cost_an_hour": "1"}})", "limits.cost_an_hour: must be dollars"},
      {R"({"limits": {"running": -1}})", "limits.running: "},
  };
  for (const auto& [body, why] : wrong) {
    const auto read = ParseQueueBody(body, "q");
    ASSERT_FALSE(read) << body;
    EXPECT_NE(read.error().reason.find(why), std::string::npos) << read.error().reason;
  }
}

TEST(SettingsJson, AFileHasPoolsAndQueuesByName) {
  const auto file = ParseSettingsFile(R"({
    "pools": {"default": null, "strict": {"policy": {"no_network": true}, "min": 1, "max": 2}},
    "queues": {"night": {"pools": ["strict"], "share": 2}, "day": {}}})");
  ASSERT_TRUE(file) << file.error().reason;
  EXPECT_EQ(file->pools.at("default").machines, PoolMachines{});
  EXPECT_FALSE(file->pools.at("default").policy);
  EXPECT_TRUE(file->pools.at("strict").policy->no_network);
  EXPECT_EQ(file->pools.at("strict").machines.max, 2);
  EXPECT_EQ(file->queues.at("night").name, "night");
  EXPECT_EQ(file->queues.at("night").share, 2);
  EXPECT_TRUE(ParseSettingsFile("{}")->pools.empty());
  for (const char* bad :
       {R"({"pool": {}})", R"({"pools": []})", R"({"pools": {"a b": {}}})",
        R"({"pools": {"a": {"machines": {}}}})", R"({"queues": {"q": {"pools": [1]}}})", "[]"}) {
    EXPECT_FALSE(ParseSettingsFile(bad)) << bad;
  }
}

TEST(SettingsJson, ASpecThatCannotBeSubmittedIsNotKept) {
  EXPECT_FALSE(ParseSpecToKeep(R"({"spec": {"imag": "x"}})"));
  EXPECT_FALSE(ParseSpecToKeep(R"({"spec": {"code": "./src"}})"));
  EXPECT_FALSE(ParseSpecToKeep("{}"));
  EXPECT_FALSE(ParseSpecToKeep(R"({"spec": {}, "version": 1})"));
}

TEST(SettingsJson, DollarsAsTheyAreWritten) {
  EXPECT_EQ(DollarsText({}), "0");
  EXPECT_EQ(DollarsText(Money{340'000}), "0.34");
  EXPECT_EQ(DollarsText(Money{12'000'001}), "12.000001");
}

}  // namespace
}  // namespace tidemill
