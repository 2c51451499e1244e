// SPDX-License-Identifier: Apache-2.0
// What holds of every answer of the autoscaler, over random snapshots and with several leaders.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "plan/autoscale.h"
#include "plan/demand.h"
#include "plan/plan_test.h"

namespace tidemill {
namespace {

using namespace std::chrono_literals;
using plan_test::kNow;
using plan_test::MachineOf;
using plan_test::RandomSnapshot;
using plan_test::World;

constexpr std::uint32_t kScalingSnapshots = 20;

const PlanMachine& Named(const Snapshot& world, const std::string& id) {
  return *std::find_if(world.machines.begin(), world.machines.end(),
                       [&](const PlanMachine& machine) { return machine.id == id; });
}

RC_GTEST_PROP(AutoscaleRules, OrdersStayBelowMax, (std::uint32_t seed)) {
  for (std::uint32_t i = 0; i < kScalingSnapshots; ++i) {
    const Snapshot world = RandomSnapshot(seed + i);
    const SnapshotIndex index(world);
    const Wanted wanted = Autoscale(index, kNow);
    RC_ASSERT(wanted.pools.size() == world.pools.size());
    std::set<std::string> pools;
    for (const Order& order : wanted.orders) {
      RC_ASSERT(pools.insert(order.pool).second);
      const std::size_t pool = *index.FindPool(order.pool);
      RC_ASSERT(order.count > 0);
      RC_ASSERT(order.first == world.pools[pool].next_number);
      RC_ASSERT(index.Alive(pool) + order.count <= MachineLimit(world.pools[pool], kNow));
      RC_ASSERT(!world.pools[pool].disabled && !world.pools[pool].provider.empty());
    }
    RC_ASSERT(Autoscale(index, kNow) == wanted);
  }
}

RC_GTEST_PROP(AutoscaleRules, NobodysWorkIsEnded, (std::uint32_t seed)) {
  for (std::uint32_t i = 0; i < kScalingSnapshots; ++i) {
    const Snapshot world = RandomSnapshot(seed + i);
    const SnapshotIndex index(world);
    const Wanted wanted = Autoscale(index, kNow);
    for (const End& end : wanted.ends) {
      const PlanMachine& machine = Named(world, end.machine);
      RC_ASSERT(machine.leases.empty());
      RC_ASSERT(machine.state == end.seen);
      RC_ASSERT(machine.state != MachineState::kJoined);
    }
    std::map<std::string, std::int64_t> drained;
    std::set<std::string> names;
    for (const Drain& drain : wanted.drains) {
      const PlanMachine& machine = Named(world, drain.machine);
      RC_ASSERT(names.insert(drain.machine).second);
      RC_ASSERT(machine.state == MachineState::kJoined);
      if (drain.reason == DrainFor::kOverMax) continue;
      RC_ASSERT(machine.leases.empty());
      const PlanPool& pool = world.pools[*index.FindPool(machine.pool)];
      RC_ASSERT(kNow - machine.billed_from >= pool.billed_at_least);
      ++drained[machine.pool];
    }
    for (const PlanPool& pool : world.pools) {
      if (pool.disabled || drained[pool.name] == 0) continue;
      const std::int64_t coming = index.Coming(*index.FindPool(pool.name));
      RC_ASSERT(coming - drained[pool.name] >=
                std::min(MinMachines(pool), MachineLimit(pool, kNow)));
    }
  }
}

// Several leaders that do not know of each other: each reads at one time and acts at another, when
// the others have acted. Rows are added as Order says. S20.
RC_GTEST_PROP(AutoscaleRules, ManyLateLeadersStayBelowMax, (std::uint32_t seed)) {
  std::mt19937 dice(seed);
  Snapshot world = World(0);
  world.pools[0].max = 1 + static_cast<std::int64_t>(dice() % 30);
  world.jobs = {plan_test::JobOf(1, "q", 1)};
  world.jobs[0].times = plan_test::Takes(10min);
  std::vector<Wanted> pending;
  std::int64_t ordered = 0;
  for (int step = 0; step < 200; ++step) {
    world.jobs[0].waiting = dice() % 200;
    if (dice() % 2 == 0) pending.push_back(Autoscale(SnapshotIndex(world), kNow));
    if (!pending.empty() && dice() % 2 == 0) {
      const std::size_t which = dice() % pending.size();
      for (const Order& order : pending[which].orders) {
        for (std::int64_t n = order.first; n < order.first + order.count; ++n) {
          if (n < world.pools[0].next_number) continue;  // the row is there
          world.machines.push_back(MachineOf(world.pools[0], n, MachineState::kOrdered));
          world.pools[0].next_number = n + 1;
          ++ordered;
        }
      }
      if (dice() % 3 != 0) pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (dice() % 4 == 0) {  // some are lost
      std::erase_if(world.machines, [&](const PlanMachine&) { return dice() % 3 == 0; });
    }
    RC_ASSERT(static_cast<std::int64_t>(world.machines.size()) <= world.pools[0].max);
  }
  RC_ASSERT(ordered > 0);
}

}  // namespace
}  // namespace tidemill
