// SPDX-License-Identifier: Apache-2.0
#include "plan/free_room.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tidemill {

FreeOn FreeOf(const SnapshotIndex& index, const PlanMachine& machine) {
  FreeOn on{machine.has, machine.leases.empty()};
  on.free.devices.erase(kWholeMachine);
  for (const MachineLease& lease : machine.leases) {
    const auto job = index.FindJob(lease.job);
    if (!job || WantsWholeMachine(index.snapshot().jobs[*job].need)) {
      return {Resources{.millicpus = 0}, false};
    }
    Take(on.free, index.snapshot().jobs[*job].need, lease.slots);
  }
  return on;
}

JoinedMachines AddJoined(const SnapshotIndex& index, PoolRoom& room) {
  const Snapshot& snapshot = index.snapshot();
  JoinedMachines joined;
  std::vector<std::map<Resources, std::int64_t, ResourcesLess>> alike(snapshot.pools.size());
  const Resources* last = nullptr;  // most machines are like the one before
  std::int64_t* count = nullptr;
  std::size_t last_pool = 0;
  for (std::size_t i = 0; i < snapshot.machines.size(); ++i) {
    const PlanMachine& machine = snapshot.machines[i];
    const auto pool = index.PoolOf(i);
    if (machine.state != MachineState::kJoined || !pool || snapshot.pools[*pool].disabled) continue;
    ++joined.machines;
    Take(joined.total, machine.has, -1);
    if (last == nullptr || last_pool != *pool || *last != machine.has) {
      last = &machine.has;
      last_pool = *pool;
      count = &alike[*pool][machine.has];
    }
    ++*count;
  }
  for (std::size_t pool = 0; pool < alike.size(); ++pool) {
    for (const auto& [has, machines] : alike[pool]) room.Add(pool, has, true, machines);
  }
  return joined;
}

FreeRoom::FreeRoom(const SnapshotIndex& index, const std::vector<Claim>& claims,
                   const std::map<std::size_t, std::size_t>& reserved)
    : room_(index.snapshot().pools.size()) {
  const Snapshot& snapshot = index.snapshot();
  // Most machines are full: those on which not even the smallest item fits are passed over.
  Resources least{.millicpus = std::numeric_limits<std::int64_t>::max(),
                  .memory_bytes = std::numeric_limits<std::int64_t>::max()};
  for (const Claim& claim : claims) {
    const Resources& need = snapshot.jobs[claim.job].need;
    kinds_.push_back(room_.KindOf(need));
    if (claim.waiting <= 0) continue;
    least.millicpus = std::min(least.millicpus, need.millicpus);
    least.memory_bytes = std::min(least.memory_bytes, need.memory_bytes);
  }
  struct Less {
    bool operator()(const FreeOn& a, const FreeOn& b) const {
      return a.empty != b.empty ? a.empty < b.empty : ResourcesLess()(a.free, b.free);
    }
  };
  std::vector<std::map<FreeOn, std::int64_t, Less>> bundles(snapshot.pools.size());
  for (std::size_t i = 0; i < snapshot.machines.size(); ++i) {
    const PlanMachine& machine = snapshot.machines[i];
    const auto pool = index.PoolOf(i);
    if (machine.state != MachineState::kJoined || !pool || reserved.contains(i)) continue;
    FreeOn on = FreeOf(index, machine);
    if (on.free.millicpus < least.millicpus || on.free.memory_bytes < least.memory_bytes) continue;
    ++bundles[*pool][std::move(on)];
  }
  // Those that are begun sort before the empty ones, so they are filled first.
  for (std::size_t pool = 0; pool < bundles.size(); ++pool) {
    for (const auto& [on, machines] : bundles[pool]) {
      room_.Add(pool, on.free, on.empty, machines);
    }
  }
}

}  // namespace tidemill
