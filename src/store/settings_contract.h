// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "store/access_contract.h"
#include "store/store_testing.h"

// The machines of pools, queues, kept specs.
namespace tidemill {

inline PoolMachines SpotMachines() {
  PoolMachines machines;
  machines.provider = "local";
  machines.shape = {4000, std::int64_t{16} << 30, {{"nvidia.com/gpu", 2}}};
  machines.spot = true;
  machines.price = {100'000};
  machines.on_demand = {400'000};
  machines.min = 1;
  machines.max = 64;
  machines.unit = SizeUnit::kVcpus;
  machines.max_price = 60;
  machines.idle = std::chrono::seconds(90);
  machines.boot_limit = std::chrono::minutes(3);
  machines.billed_at_least = std::chrono::seconds(7);
  machines.labels = {{"arch", "arm64"}, {"zone", "a=b"}};
  machines.steps = {{1, 1}, {101, 2}};
  machines.disabled = true;
  machines.options = R"({"subnet":"s-1"})";
  return machines;
}

inline Queue QueueOf(std::string name, std::vector<std::string> pools = {}) {
  Queue queue;
  queue.name = std::move(name);
  queue.pools = std::move(pools);
  return queue;
}

inline KeptSpec SpecOf(std::string name, std::string document) {
  KeptSpec spec;
  spec.name = std::move(name);
  spec.document = std::move(document);
  spec.made_by = "ann";
  return spec;
}

TEST_P(StoreTest, APoolKeepsWhatItsMachinesAre) {
  const Pool spot{"default", "spot", {.no_network = true}};
  EXPECT_EQ(CodeOfFailed(settings().SetMachines("default", "spot", {})), Code::kNotFound);
  Must(access().PutPool(spot));
  EXPECT_EQ(Must(settings().FindPoolSettings("default", "spot")), (PoolSettings{spot, {}}));
  const PoolSettings set{spot, SpotMachines()};
  EXPECT_EQ(Must(settings().SetMachines("default", "spot", set.machines)), set);
  EXPECT_EQ(Must(settings().FindPoolSettings("default", "spot")), set);
  // Another policy leaves the machines as they are.
  const Pool strict{"default", "spot", {.firewall = true}};
  Must(access().PutPool(strict));
  EXPECT_EQ(Must(settings().FindPoolSettings("default", "spot")),
            (PoolSettings{strict, set.machines}));
  const std::vector<PoolSettings> all = Must(settings().ListPoolSettings("default", "", 10));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].pool.name, "default");
  EXPECT_EQ(all[0].machines, PoolMachines{});
  EXPECT_EQ(Must(settings().ListPoolSettings("default", "default", 1)).at(0), all[1]);
  EXPECT_EQ(Must(settings().SetMachines("default", "spot", {})).machines, PoolMachines{});
  EXPECT_EQ(CodeOfFailed(settings().FindPoolSettings("none", "spot")), Code::kNotFound);
}

TEST_P(StoreTest, QueuesNamePoolsInTheirOrder) {
  Must(access().PutProject("vision", {}));
  Must(access().PutPool({"vision", "b", {}}));
  Must(access().PutPool({"vision", "a", {}}));
  Queue night = QueueOf("night", {"b", "default", "a"});
  night.priority = -3;
  night.share = 0;
  night.limits = {.machines = 0, .cost_an_hour = Money{2'500'000}, .running = 7};
  night.disabled = true;
  EXPECT_EQ(Must(settings().PutQueue("vision", night)), night);
  EXPECT_EQ(Must(settings().PutQueue("vision", night)), night);
  EXPECT_EQ(Must(settings().FindQueue("vision", "night")), night);
  Must(settings().PutQueue("vision", QueueOf("Day")));
  const std::vector<Queue> all = Must(settings().ListQueues("vision", "", 10));
  EXPECT_EQ(all, (std::vector<Queue>{QueueOf("Day"), night}));
  EXPECT_EQ(Must(settings().ListQueues("vision", "Day", 1)).at(0), night);
  Must(settings().PutQueue("vision", QueueOf("night", {"a", "b"})));
  EXPECT_EQ(Must(settings().FindQueue("vision", "night")), QueueOf("night", {"a", "b"}));
  EXPECT_EQ(CodeOfFailed(settings().FindQueue("default", "night")), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(settings().PutQueue("none", QueueOf("q"))), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(settings().DropQueue("default", "night")), Code::kNotFound);
  Must(settings().DropQueue("vision", "night"));
  EXPECT_EQ(CodeOfFailed(settings().FindQueue("vision", "night")), Code::kNotFound);
}

TEST_P(StoreTest, AQueueThatNamesNoPoolOfItsProjectIsRefused) {
  Must(access().PutProject("vision", {}));
  Must(access().PutPool({"vision", "a", {}}));
  const auto refused = settings().PutQueue("default", QueueOf("q", {"default", "a"}));
  ASSERT_EQ(CodeOfFailed(refused), Code::kInvalid);
  EXPECT_EQ(refused.error().reason, "queue q names pool a, which is not there; make it first");
  EXPECT_EQ(CodeOfFailed(settings().FindQueue("default", "q")), Code::kNotFound);
}

TEST_P(StoreTest, APoolGoesOnlyWhenNothingNeedsIt) {
  const auto why = [&](const Result<void>& dropped) {
    return CodeOfFailed(dropped) == Code::kConflict ? dropped.error().reason : "another code";
  };
  Must(access().PutPool({"default", "spot", {}}));
  EXPECT_EQ(why(settings().DropPool("default", "default")),
            "the default pool stays; disable it instead");
  Must(settings().PutQueue("default", QueueOf("q", {"default", "spot"})));
  EXPECT_EQ(why(settings().DropPool("default", "spot")),
            "queue q names pool spot; take it out of the queue first");
  Must(settings().PutQueue("default", QueueOf("q", {"default"})));
  Must(access().CreateToken(JoinToken({1, 1}, "join", "spot")));
  EXPECT_EQ(why(settings().DropPool("default", "spot")),
            "join tokens lead to pool spot; revoke them first");
  Must(access().RevokeToken("default", {1, 1}));
  Must(settings().SetMachines("default", "spot", SpotMachines()));
  // That of a machine that was ordered, and is gone, is worth nothing without its pool.
  NewToken ordered = JoinToken({1, 2}, "spot-1", "spot");
  ordered.made_by = kAutoscaler;
  Must(access().CreateToken(ordered));
  Must(settings().DropPool("default", "spot"));
  EXPECT_FALSE(access().UseJoinToken(ordered.secret, {5, 5}));
  EXPECT_EQ(CodeOfFailed(settings().DropPool("default", "spot")), Code::kNotFound);
  // One that is made again knows nothing of the old one.
  Must(access().PutPool({"default", "spot", {}}));
  EXPECT_EQ(Must(settings().FindPoolSettings("default", "spot")).machines, PoolMachines{});
}

TEST_P(StoreTest, APoolWithMachinesStaysUntilTheyAreGone) {
  Must(access().PutPool({"default", "spot", {}}));
  NewSession session;
  session.id = {7, 7};
  session.machine = "m";
  session.project = "default";
  session.pool = "spot";
  session.life = std::chrono::seconds(60);
  session.token = "token";
  Must(store().Join(session));
  const auto refused = settings().DropPool("default", "spot");
  ASSERT_EQ(CodeOfFailed(refused), Code::kConflict);
  EXPECT_EQ(refused.error().reason, "pool spot has machines; drain them first");
  Age(std::chrono::minutes(5));
  Must(store().Reap(10));
  Must(settings().DropPool("default", "spot"));
}

TEST_P(StoreTest, AnotherDocumentIsAnotherVersionOfASpec) {
  const KeptSpec first = Must(settings().PutSpec("default", SpecOf("render", R"({"a":1})")));
  EXPECT_EQ(first.version, 1);
  EXPECT_EQ(first.made_by, "ann");
  EXPECT_GT(first.created_ms, 0);
  EXPECT_EQ(Must(settings().PutSpec("default", SpecOf("render", R"({"a":1})"))), first);
  const KeptSpec second = Must(settings().PutSpec("default", SpecOf("render", R"({"a":2})")));
  EXPECT_EQ(second.version, 2);
  // As the first was, but not as the newest is.
  EXPECT_EQ(Must(settings().PutSpec("default", SpecOf("render", R"({"a":1})"))).version, 3);
  EXPECT_EQ(Must(settings().FindSpec("default", "render", 2)), second);
  EXPECT_EQ(Must(settings().FindSpec("default", "render", {})).version, 3);
  Must(settings().PutSpec("default", SpecOf("Blur", "{}")));
  const std::vector<KeptSpec> all = Must(settings().ListSpecs("default", "", 10));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "Blur");
  EXPECT_EQ(all[1].version, 3);
  EXPECT_EQ(all[1].document, "");
  EXPECT_EQ(Must(settings().ListSpecs("default", "Blur", 1)).at(0), all[1]);
  for (const int version : {0, 4, -1}) {
    EXPECT_EQ(CodeOfFailed(settings().FindSpec("default", "render", version)), Code::kNotFound);
  }
  EXPECT_EQ(CodeOfFailed(settings().FindSpec("default", "none", {})), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(settings().FindSpec("default", "none", 1)), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(settings().PutSpec("none", SpecOf("x", "{}"))), Code::kNotFound);
  Must(settings().DropSpec("default", "render"));
  EXPECT_EQ(CodeOfFailed(settings().DropSpec("default", "render")), Code::kNotFound);
  EXPECT_EQ(Must(settings().PutSpec("default", SpecOf("render", "{}"))).version, 1);
}

}  // namespace tidemill
