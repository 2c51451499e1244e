// SPDX-License-Identifier: Apache-2.0
// Two leaders at once on one database: each server may believe for a while that it leads.
#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "store/postgres/test_database.h"

namespace tidemill {
namespace {

constexpr int kRounds = 150;
constexpr std::int64_t kMachines = 20;

class PlanRace : public testing::Test {
 protected:
  PlanRace() { Must(store_.PutPool({"default", "spot", {}})); }

  // Both do it as often as there are rounds, each with its own number.
  static void Twice(const std::function<void(int leader, int round)>& call) {
    std::vector<std::jthread> leaders;
    for (const int leader : {0, 1}) {
      leaders.emplace_back([&call, leader] {
        for (int round = 0; round < kRounds; ++round) call(leader, round);
      });
    }
  }
  std::vector<MachineKey> Order(std::int64_t first, std::int64_t count) {
    return Must(store_.OrderMachines("default", "spot", first, count, {}));
  }
  std::vector<PlanMachine> Machines() {
    const Snapshots read = Must(store_.ReadSnapshots());
    return read.projects.empty() ? std::vector<PlanMachine>{} : read.projects[0].snapshot.machines;
  }
  static std::vector<ProviderSight> AllSeen() {
    std::vector<ProviderSight> seen;
    for (std::int64_t number = 0; number < kMachines; ++number) {
      seen.push_back({{"default", "spot", number}, kMade, {}});
    }
    return seen;
  }
  SessionId Join(const std::string& machine, Random& random) {
    NewSession session;
    session.id = random.NewId<SessionId>();
    session.machine = machine;
    session.project = "default";
    session.pool = "spot";
    session.life = kLong;
    session.machine_key = "key";
    session.token = kToken;
    return Must(store_.Join(session)).id;
  }
  void Leave(SessionId session) {
    SyncOrder order;
    order.session = session;
    order.token = kToken;
    order.leaving = true;
    Must(store_.Run({{order}, {}}));
  }

  static constexpr TimePoint kMade{std::chrono::seconds(1'700'000'000)};
  TestDatabase database_;
  PostgresStore store_{{database_.conninfo(), 4}};
};

TEST_F(PlanRace, NoMachineIsOrderedTwice) {
  std::vector<MachineKey> ordered[2];
  Twice([&](int leader, int round) {
    for (MachineKey& key : Order(round * 2, 5)) ordered[leader].push_back(std::move(key));
  });
  std::set<MachineKey> all(ordered[0].begin(), ordered[0].end());
  all.insert(ordered[1].begin(), ordered[1].end());
  EXPECT_EQ(all.size(), ordered[0].size() + ordered[1].size());
  EXPECT_EQ(std::ssize(all), (kRounds - 1) * 2 + 5);
  EXPECT_EQ(Machines().size(), all.size());
}

TEST_F(PlanRace, NoTimeIsPutDownTwice) {
  Order(0, kMachines);
  Must(store_.SeeMachines({AllSeen()}));
  Twice([&](int leader, int) {
    std::vector<PutDownMachine> down;
    for (const PlanMachine& machine : Machines()) {
      const TimePoint until = machine.put_down_until + std::chrono::seconds(1);
      down.push_back({{"default", "spot", machine.number},
                      machine.put_down_until,
                      until,
                      {{Account::kBoot, {}, std::chrono::seconds(1), {1}}}});
    }
    if (leader == 1) std::reverse(down.begin(), down.end());
    Must(store_.PutDown(down));
  });
  Duration sum{};
  for (const PlanMachine& machine : Machines()) sum += machine.put_down_until - kMade;
  const std::vector<Entry> entries = Must(store_.ReadOverhead("default"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].time, sum);
  EXPECT_EQ(entries[0].amount, Money{sum / std::chrono::seconds(1)});
  EXPECT_GE(sum, kMachines * kRounds * std::chrono::seconds(1));
}

// They see the machines, and put down what they cost, while agents come and go.
TEST_F(PlanRace, BothSeeEveryMachineAsOne) {
  Order(0, kMachines);
  std::atomic<bool> over = false;
  std::jthread agents([&] {
    SeededRandom random(1);
    while (!over) {
      const std::int64_t number = static_cast<std::int64_t>(random.Below(2 * kMachines));
      Leave(Join("spot-" + std::to_string(number), random));
    }
  });
  Twice([&](int leader, int round) {
    std::vector<ProviderSight> seen = AllSeen();
    if (leader == 1) std::reverse(seen.begin(), seen.end());
    Must(store_.SeeMachines({seen}));
    if (round % 10 == leader) Must(store_.DrainMachine({"default", "spot", round % kMachines}));
    std::vector<PutDownMachine> down;
    for (const PlanMachine& machine : Machines()) {
      down.push_back({{"default", "spot", machine.number},
                      machine.put_down_until,
                      machine.put_down_until + std::chrono::seconds(1),
                      {}});
    }
    Must(store_.PutDown(down));
  });
  over = true;
  agents.join();
  SeededRandom random(2);
  Join("last", random);
  Must(store_.SeeMachines({AllSeen()}));
  std::set<std::string> names;
  int there = 0;
  for (const PlanMachine& machine : Machines()) {
    if (machine.state == MachineState::kGone) continue;
    ++there;
    names.insert(machine.name);
  }
  EXPECT_EQ(there, kMachines + 1);
  EXPECT_EQ(std::ssize(names), there);
}

}  // namespace
}  // namespace tidemill
