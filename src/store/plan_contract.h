// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/plan_store.h"
#include "store/store_testing.h"

// Who leads, and the plan that is in force.
namespace tidemill {

class PlanStoreTest : public StoreTest {
 protected:
  static constexpr std::chrono::seconds kSecond{1};
  using enum MachineState;

  PlanStoreTest() {
    Must(access().PutPool({"default", "spot", {}}));
    PoolMachines machines;
    machines.provider = "local";
    machines.price = Money{3'600'000};
    Must(settings().SetMachines("default", "spot", machines));
  }

  TimePoint Now() { return Must(plan().ReadSnapshots()).now; }
  Snapshot Read(const std::string& project = "default") {
    for (const ProjectSnapshot& one : Must(plan().ReadSnapshots()).projects) {
      if (one.project == project) return one.snapshot;
    }
    return {};
  }
  PlanMachine MachineOf(const std::string& id) {
    for (const PlanMachine& machine : Read().machines) {
      if (machine.id == id) return machine;
    }
    throw std::runtime_error("no machine " + id);
  }
  PlanPool Spot() {
    for (const PlanPool& pool : Read().pools) {
      if (pool.name == "spot") return pool;
    }
    throw std::runtime_error("no pool spot");
  }
  void See(const std::vector<ProviderSight>& sights = {}) { Must(plan().SeeMachines({sights})); }
  // The same if these are all that its provider has.
  void SeeAll(const std::vector<ProviderSight>& sights) {
    Must(plan().SeeMachines({sights, {{"default", "spot"}}}));
  }
  std::vector<MachineKey> Order(std::int64_t first, std::int64_t count) {
    return Must(plan().OrderMachines("default", "spot", first, count, Money{3'600'000}));
  }
  static MachineKey Spot(std::int64_t number) { return {"default", "spot", number}; }

  SessionId JoinAs(const std::string& machine, const std::string& pool = "spot") {
    NewSession session;
    session.id = ids_.NewId<SessionId>();
    session.machine = machine;
    session.project = "default";
    session.pool = pool;
    session.shape = {4000, 4 * kGiB, {}};
    session.life = kLong;
    session.machine_key = "key";
    session.token = kToken;
    return Must(store().Join(session)).id;
  }
  void Leave(SessionId session) {
    SyncOrder order = From(session);
    order.leaving = true;
    Sync(order);
  }
  JobId DefaultJob(const std::string& key, const JobWishes& wishes = {}, int items = 8) {
    NewJob job = JobOf(key, {.retries = 2, .retry_wait = std::chrono::seconds(60)});
    job.project = "default";
    job.owner = "ann";
    job.spec.wishes = wishes;
    const JobId id = Must(store().CreateJob(job)).id;
    Must(store().AddPart(id, PartOf(0, {items})));
    Must(store().SealJob(id, 1));
    return id;
  }

 private:
  SeededRandom ids_{2};
};

TEST_P(PlanStoreTest, OneLeadsUntilItsTimeIsOverOrItStepsDown) {
  EXPECT_EQ(Must(plan().Lead("a", kSecond)), 1);
  EXPECT_EQ(Must(plan().Lead("a", kSecond)), 1);
  EXPECT_EQ(Must(plan().Lead("b", kSecond)), std::nullopt);
  Age(kSecond);
  EXPECT_EQ(Must(plan().Lead("b", kSecond)), 2);
  EXPECT_EQ(Must(plan().Lead("a", kSecond)), std::nullopt);
  Must(plan().StepDown("a"));  // it leads no more
  EXPECT_EQ(Must(plan().Lead("a", kSecond)), std::nullopt);
  Must(plan().StepDown("b"));
  EXPECT_EQ(Must(plan().Lead("a", kSecond)), 3);
}

TEST_P(PlanStoreTest, APlanIsNewOnlyIfItDiffers) {
  EXPECT_EQ(Must(plan().ReadPlan()).seq, 0);
  const std::int64_t epoch = *Must(plan().Lead("a", kSecond));
  const Plan one{{{{1}, "spot", 3, 1}, {{1}, "od", 2, 0}}, {{"spot-1", {2}}}};
  Must(plan().WritePlans(epoch, {{"p", one}, {"q", {}}}));
  EXPECT_EQ(Must(store().ReadChange()).plan_seq, 1);
  Must(plan().WritePlans(epoch, {{"p", one}, {"q", {}}}));
  PlanInForce read = Must(plan().ReadPlan());
  EXPECT_EQ(read.seq, 1);
  EXPECT_EQ(read.plans, (std::map<std::string, Plan>{{"p", one}, {"q", {}}}));
  // One that is not named has no plan any more.
  Must(plan().WritePlans(epoch, {{"p", {}}}));
  read = Must(plan().ReadPlan());
  EXPECT_EQ(read.seq, 2);
  EXPECT_EQ(read.plans, (std::map<std::string, Plan>{{"p", {}}}));
  Age(kSecond);
  Must(plan().Lead("b", kSecond));
  EXPECT_EQ(CodeOfFailed(plan().WritePlans(epoch, {{"p", one}})), Code::kConflict);
  read = Must(plan().ReadPlan());
  EXPECT_EQ(read.seq, 2);
  EXPECT_EQ(read.plans.at("p"), Plan{});
}

TEST_P(PlanStoreTest, APlanIsReadWithWhatRuns) {
  const JobId a = DefaultJob("a"), b = DefaultJob("b");
  const SessionId session = JoinAs("m");
  JoinAs("idle");
  Take(session, a, 3);
  Take(session, a, 2);
  Take(session, b, 1);
  const std::vector<SessionUse> uses = Must(plan().ReadPlan()).uses;
  EXPECT_EQ(uses, (std::vector<SessionUse>{
                      {session, "default", "spot", {4000, 4 * kGiB, {}}, {{a, 5}, {b, 1}}}}));
}

}  // namespace tidemill
