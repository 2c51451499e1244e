// SPDX-License-Identifier: Apache-2.0
#include "store/snapshot_rules.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace tidemill {
namespace {

void NameMachines(Snapshot& snapshot) {
  std::unordered_map<std::string, int> names;
  for (const PlanMachine& machine : snapshot.machines) ++names[machine.name];
  std::unordered_map<std::string, int> ids;
  for (PlanMachine& machine : snapshot.machines) {
    machine.id = machine.name;
    if (names[machine.name] > 1) machine.id = machine.pool + "/" + machine.name;
    // One that is gone and one that is there may share even this.
    if (++ids[machine.id] > 1) machine.id += "#" + std::to_string(machine.number);
  }
}

// Those without a provider first: they are there anyway.
Queue DefaultQueue(const Snapshot& snapshot) {
  Queue queue;
  queue.name = kDefaultQueue;
  for (const bool made : {false, true}) {
    for (const PlanPool& pool : snapshot.pools) {
      if (pool.provider.empty() != made) queue.pools.push_back(pool.name);
    }
  }
  return queue;
}

}  // namespace

Duration FromSeconds(double seconds) {
  return Duration(static_cast<std::int64_t>(std::llround(seconds * 1e6)));
}

std::optional<ItemTimes> TimesOf(std::int64_t items, double seconds, double squares) {
  if (items <= 0) return std::nullopt;
  const double count = static_cast<double>(items);
  const double mean = seconds / count;
  const double variance = std::max(squares / count - mean * mean, 0.0);
  return ItemTimes{items, FromSeconds(mean), FromSeconds(std::sqrt(variance))};
}

std::vector<MachineLease> LeasesOn(const Resources& has, const std::map<JobId, std::int64_t>& owed,
                                   const std::map<JobId, Resources>& needs,
                                   const std::map<JobId, std::string>& waits) {
  std::vector<MachineLease> leases;
  for (const auto& [job, slots] : SideBySide(has, owed, needs)) {
    MachineLease& lease = leases.emplace_back();
    lease.job = job;
    lease.slots = std::max<std::int64_t>(slots, 1);
    if (const auto found = waits.find(job); found != waits.end()) lease.waits_for = found->second;
  }
  return leases;
}

Snapshots FinishSnapshots(TimePoint now, std::map<std::string, Snapshot> projects,
                          const std::map<std::string, Plan>& plans) {
  Snapshots snapshots;
  snapshots.now = now;
  for (auto& [project, snapshot] : projects) {
    const bool made = std::any_of(snapshot.pools.begin(), snapshot.pools.end(),
                                  [](const PlanPool& pool) { return !pool.provider.empty(); });
    if (snapshot.jobs.empty() && snapshot.machines.empty() && !made) continue;
    const bool has_default =
        std::any_of(snapshot.queues.begin(), snapshot.queues.end(),
                    [](const Queue& queue) { return queue.name == kDefaultQueue; });
    if (!has_default) snapshot.queues.push_back(DefaultQueue(snapshot));
    NameMachines(snapshot);
    if (const auto plan = plans.find(project); plan != plans.end()) {
      std::unordered_map<std::string, JobId> held;
      for (const Reservation& one : plan->second.reserved) held[one.machine] = one.job;
      for (PlanMachine& machine : snapshot.machines) {
        const auto found = held.find(machine.id);
        if (found != held.end()) machine.reserved_for = found->second;
      }
    }
    snapshots.projects.push_back({project, std::move(snapshot)});
  }
  return snapshots;
}

}  // namespace tidemill
