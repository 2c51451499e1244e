// SPDX-License-Identifier: Apache-2.0
#include "plan/index.h"

#include <set>

#include "plan/pool_room.h"

namespace tidemill {
namespace {

// An empty machine has one of itself to give, also if whoever wrote down its shape did not say so.
Resources WithMachine(Resources shape) {
  shape.devices[kWholeMachine] = 1;
  return shape;
}

}  // namespace

SnapshotIndex::SnapshotIndex(const Snapshot& snapshot)
    : snapshot_(snapshot),
      pool_of_(snapshot.machines.size()),
      shapes_(snapshot.pools.size()),
      ordered_(snapshot.pools.size()),
      running_(snapshot.jobs.size()),
      joined_(snapshot.pools.size()),
      alive_(snapshot.pools.size()),
      coming_(snapshot.pools.size()) {
  for (std::size_t i = 0; i < snapshot.queues.size(); ++i) {
    queues_.emplace(snapshot.queues[i].name, i);
  }
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) jobs_.emplace(snapshot.jobs[i].id, i);
  std::vector<std::set<Resources, ResourcesLess>> shapes(snapshot.pools.size());
  for (std::size_t i = 0; i < snapshot.pools.size(); ++i) {
    pools_.emplace(snapshot.pools[i].name, i);
    if (!snapshot.pools[i].provider.empty()) {
      ordered_[i] = WithMachine(snapshot.pools[i].shape);
      shapes[i].insert(ordered_[i]);
    }
  }
  const Resources* seen = nullptr;  // most machines are like the one before
  std::size_t seen_pool = 0;
  for (std::size_t i = 0; i < snapshot.machines.size(); ++i) {
    const PlanMachine& machine = snapshot.machines[i];
    pool_of_[i] = FindPool(machine.pool);
    if (!pool_of_[i] || machine.state == MachineState::kGone) continue;
    const std::size_t pool = *pool_of_[i];
    ++alive_[pool];
    if (machine.state != MachineState::kDraining) ++coming_[pool];
    if (machine.state == MachineState::kJoined &&
        (seen == nullptr || pool_of_[i] != seen_pool || *seen != machine.has)) {
      seen = &machine.has;
      seen_pool = pool;
      shapes[pool].insert(WithMachine(machine.has));
    }
    if (machine.state == MachineState::kJoined) {
      ++joined_[pool];
      for (const JobId resting : machine.resting) {
        if (const auto job = FindJob(resting)) ++resting_[{*job, pool}];
      }
    }
    for (const MachineLease& lease : machine.leases) {
      if (const auto job = FindJob(lease.job)) running_[*job][pool] += lease.slots;
    }
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    shapes_[i].assign(shapes[i].begin(), shapes[i].end());
  }
}

std::optional<std::size_t> SnapshotIndex::Find(const Names& names, std::string_view name) {
  const auto found = names.find(name);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> SnapshotIndex::FindJob(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

const Resources* SnapshotIndex::Shape(std::size_t pool) const {
  if (!snapshot_.pools[pool].provider.empty()) return &ordered_[pool];
  return shapes_[pool].empty() ? nullptr : &shapes_[pool].front();
}

bool SnapshotIndex::RestsEverywhere(std::size_t job, std::size_t pool) const {
  const auto found = resting_.find({job, pool});
  return found != resting_.end() && found->second == joined_[pool];
}

std::int64_t SnapshotIndex::RunningTotal(std::size_t job) const {
  std::int64_t slots = 0;
  for (const auto& [pool, count] : running_[job]) slots += count;
  return slots;
}

}  // namespace tidemill
