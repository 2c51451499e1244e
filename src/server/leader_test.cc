// SPDX-License-Identifier: Apache-2.0
#include "server/leader.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "provider/fake_provider.h"
#include "server/server_test.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const std::string kProject(kDefaultProject);
constexpr Money kPrice{3'600'000};  // a thousandth of a dollar a second

// Leaders, a store and a provider on one virtual clock; a machine that comes up joins at once.
class LeaderTest : public ::testing::Test {
 protected:
  LeaderTest() {
    provider_.play().on_up = [this](const PoolSettings& pool, const MachineOrder& order) {
      NewSession session;
      session.id = random_.NewId<SessionId>();
      session.machine = order.name;
      session.project = pool.pool.project;
      session.pool = pool.pool.name;
      session.shape = pool.machines.shape;
      session.life = std::chrono::hours(10);
      session.machine_key = session.token = order.name;
      EXPECT_TRUE(store_.Join(session));
    };
    // A clock of 0 is no time at all.
    RunFor(seconds(1));
  }

  TimePoint Now() const { return loop_.Now(); }
  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }
  std::unique_ptr<Leader> Leads(const std::string& name) {
    auto leader = std::make_unique<Leader>(ServerDeps{loop_,
                                                      worker_,
                                                      worker_,
                                                      store_,
                                                      store_,
                                                      random_,
                                                      log_,
                                                      &store_,
                                                      {{"local", &provider_}}},
                                           LeaderOptions{.name = name});
    leader->Start();
    return leader;
  }

  void MakePool(const std::string& name, std::int64_t max) {
    EXPECT_TRUE(store_.PutPool({kProject, name, {}}));
    PoolMachines machines;
    machines.provider = "local";
    machines.shape = {2000, 1 << 30};
    machines.price = machines.on_demand = kPrice;
    machines.max = max;
    machines.idle = seconds(5);
    EXPECT_TRUE(store_.SetMachines(kProject, name, machines));
  }
  // So many items of a minute, in ten minutes.
  JobId Submit(std::int64_t items) {
    NewJob job;
    job.project = kProject;
    job.key = "key";
    job.spec.name = "job";
    job.spec.document = "{}";
    const JobId id = store_.CreateJob(job)->id;
    EXPECT_TRUE(
        store_.AddPart(id, {.number = 0, .digest = "d", .chunks = {}, .range_items = items}));
    EXPECT_TRUE(store_.SealJob(id, 1));
    EXPECT_TRUE(store_.HearTimes("server", {{id, 10, 600, 36'000, 0}}));
    return id;
  }
  void Cancel(JobId id) {
    EXPECT_TRUE(store_.CancelJob(id));
    for (int i = 0; i < 1000 && store_.SweepJob(id)->again; ++i) {
    }
  }
  std::vector<PlanMachine> Machines() {
    const Result<Snapshots> read = store_.ReadSnapshots();
    for (const ProjectSnapshot& project : read->projects) {
      if (project.project == kProject) return project.snapshot.machines;
    }
    return {};
  }
  std::int64_t CountIn(MachineState state) {
    const auto machines = Machines();
    return std::count_if(machines.begin(), machines.end(),
                         [state](const PlanMachine& machine) { return machine.state == state; });
  }
  Money PutDownSum() {
    Money sum;
    const auto entries = store_.ReadOverhead(kProject);
    for (const Entry& entry : *entries) sum += entry.amount;
    return sum;
  }
  Money BillSum() const {
    Money sum;
    for (const FakeProvider::Billed& row : provider_.bill()) {
      sum += CostOf(kPrice, std::max<Duration>(row.ended - row.since, kDefaultBilledAtLeast));
    }
    return sum;
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  MemoryStore store_{[this] { return loop_.Now().time_since_epoch().count(); }};
  ErrorLog log_;
  FakeProvider provider_{loop_, [this] { return loop_.Now(); }};
};

TEST_F(LeaderTest, GoesFromNoneToManyToNoneAndTheAccountsAreTheBill) {
  MakePool("spot", 5);
  const auto leader = Leads("a");
  RunFor(seconds(10));
  EXPECT_EQ(provider_.there(), 0);
  const JobId job = Submit(60);
  RunFor(seconds(15));
  EXPECT_EQ(CountIn(MachineState::kJoined), 3);  // 60 min of work in 10, two slots each
  Cancel(job);
  RunFor(minutes(3));
  EXPECT_EQ(provider_.there(), 0);
  EXPECT_TRUE(Machines().empty());
  EXPECT_EQ(provider_.bill().size(), 3U);
  EXPECT_EQ(PutDownSum(), BillSum());
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(LeaderTest, AnotherLeadsWhenTheFirstIsSilent) {
  MakePool("spot", 5);
  auto first = Leads("a");
  RunFor(seconds(3));
  const auto second = Leads("b");
  RunFor(seconds(3));
  EXPECT_TRUE(first->leads());
  EXPECT_FALSE(second->leads());
  Submit(60);
  RunFor(seconds(1));
  first.reset();
  RunFor(seconds(20));
  EXPECT_TRUE(second->leads());
  EXPECT_EQ(provider_.there(), 3);
}

TEST_F(LeaderTest, WhatIsRefusedIsNotOrderedAgainSoon) {
  MakePool("spot", 5);
  provider_.play().capacity = 1;
  const auto leader = Leads("a");
  Submit(60);
  RunFor(minutes(1));
  EXPECT_EQ(provider_.there(), 1);
  EXPECT_EQ(Machines().size(), 1U);
  EXPECT_EQ(std::count(log_.warnings.begin(), log_.warnings.end(), "provider.refused"), 1);
  provider_.play().capacity = std::nullopt;
  RunFor(minutes(4));
  EXPECT_EQ(provider_.there(), 3);
}

TEST_F(LeaderTest, WhatNeverJoinsIsEndedAndThePoolIsLeftAlone) {
  MakePool("spot", 5);
  provider_.play().never_up = {"spot-0", "spot-1", "spot-2"};
  const auto leader = Leads("a");
  Submit(60);
  RunFor(minutes(12));
  EXPECT_EQ(provider_.there(), 0);
  EXPECT_EQ(provider_.bill().size(), 3U);
  RunFor(minutes(30));
  EXPECT_EQ(provider_.bill().size(), 3U);
  EXPECT_TRUE(store_.ForgiveNeverJoined(kProject, "spot"));
  RunFor(minutes(1));
  EXPECT_EQ(CountIn(MachineState::kJoined), 3);
}

TEST_F(LeaderTest, NothingIsOrderedFromAProviderThatIsNotHere) {
  MakePool("spot", 5);
  PoolMachines machines = store_.FindPoolSettings(kProject, "spot")->machines;
  machines.provider = "elsewhere";
  EXPECT_TRUE(store_.SetMachines(kProject, "spot", machines));
  const auto leader = Leads("a");
  Submit(60);
  RunFor(minutes(1));
  EXPECT_TRUE(Machines().empty());
}

}  // namespace
}  // namespace tidemill
