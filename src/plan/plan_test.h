// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/snapshot.h"
#include "plan/schedule.h"

// Builders for tests of this module: they default everything else.
namespace tidemill::plan_test {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;
inline constexpr TimePoint kNow{std::chrono::hours(1'000)};

inline Money Dollars(double dollars) { return {static_cast<std::int64_t>(dollars * 1e6 + 0.5)}; }

inline Queue QueueOf(std::string name, std::vector<std::string> pools) {
  Queue queue;
  queue.name = std::move(name);
  queue.pools = std::move(pools);
  return queue;
}

// Machines of 4 cpus and 16 GiB for 0.40 $ an hour, at most 100 of them.
inline PlanPool PoolOf(std::string name) {
  PlanPool pool;
  pool.name = std::move(name);
  pool.provider = "local";
  pool.shape = {4000, 16 * kGiB};
  pool.price = pool.on_demand = Dollars(0.40);
  pool.max = 100;
  return pool;
}

// Of one cpu and 1 GiB an item; nothing is known of how long they take.
inline PlanJob JobOf(std::int64_t number, std::string queue, std::int64_t waiting) {
  PlanJob job;
  job.id = {number};
  job.name = "job-" + std::to_string(number);
  job.owner = "ann";
  job.queue = std::move(queue);
  job.need = {1000, kGiB};
  job.waiting = waiting;
  job.submitted = job.served = kNow - std::chrono::minutes(1);
  return job;
}

inline ItemTimes Takes(Duration mean, Duration spread = Duration(0)) { return {100, mean, spread}; }

inline PlanMachine MachineOf(const PlanPool& pool, std::int64_t number,
                             MachineState state = MachineState::kJoined) {
  PlanMachine machine;
  machine.id = pool.name + "-" + std::to_string(number);
  machine.pool = pool.name;
  machine.number = number;
  machine.state = state;
  machine.since = machine.billed_from = machine.idle_since = kNow - std::chrono::minutes(2);
  machine.price = pool.price;
  if (state == MachineState::kJoined || state == MachineState::kDraining) {
    machine.has = pool.shape;
    machine.joined = machine.since;
  }
  return machine;
}

// One queue `q` with one pool `p` of so many machines that have joined.
inline Snapshot World(std::int64_t machines) {
  Snapshot world;
  world.queues = {QueueOf("q", {"p"})};
  world.pools = {PoolOf("p")};
  for (std::int64_t i = 0; i < machines; ++i) {
    world.machines.push_back(MachineOf(world.pools[0], i));
  }
  world.pools[0].next_number = machines;
  return world;
}

inline Plan PlanOf(const Snapshot& snapshot, TimePoint now = kNow) {
  return MakePlan(SnapshotIndex(snapshot), now);
}

inline std::int64_t SlotsOf(const Plan& plan, std::int64_t job, const std::string& pool = "") {
  std::int64_t slots = 0;
  for (const PlanRow& row : plan.rows) {
    if (row.job.number == job && (pool.empty() || row.pool == pool)) slots += row.slots;
  }
  return slots;
}

// All that a snapshot can be, by chance: queues, pools, jobs and machines of every kind, with what
// is leased on them.
Snapshot RandomSnapshot(std::uint32_t seed);

}  // namespace tidemill::plan_test
