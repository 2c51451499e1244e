// SPDX-License-Identifier: Apache-2.0
#include "plan/after_plan.h"

#include <algorithm>

#include "plan/free_room.h"

namespace tidemill {

Caps CapsAfter(const SnapshotIndex& index, const Plan& plan) {
  Caps caps(index);
  caps.AddRunning(index);
  for (const PlanRow& row : plan.rows) {
    const std::size_t job = *index.FindJob(row.job);
    const std::size_t pool = *index.FindPool(row.pool);
    const auto running = index.Running(job).find(pool);
    const std::int64_t runs = running == index.Running(job).end() ? 0 : running->second;
    const std::int64_t more = row.slots - runs;
    const auto queue = index.FindQueue(index.snapshot().jobs[job].queue);
    if (more > 0 && queue) caps.Add(job, *queue, SlotCostOf(index, job, pool), more);
  }
  return caps;
}

bool HasRoomFor(const SnapshotIndex& index, const Plan& plan, const Claim& claim) {
  const PlanJob& job = index.snapshot().jobs[claim.job];
  for (std::size_t i = 0; i < index.snapshot().machines.size(); ++i) {
    const PlanMachine& machine = index.snapshot().machines[i];
    const auto pool = index.PoolOf(i);
    if (machine.state != MachineState::kJoined || !pool) continue;
    if (std::find(claim.pools.begin(), claim.pools.end(), *pool) == claim.pools.end()) continue;
    const bool kept = std::any_of(
        plan.reserved.begin(), plan.reserved.end(),
        [&](const Reservation& one) { return one.machine == machine.id && one.job != job.id; });
    if (kept) continue;
    FreeOn on = FreeOf(index, machine);
    if (on.empty) on.free.devices[kWholeMachine] = 1;
    if (SlotsIn(on.free, job.need) > 0) return true;
  }
  return false;
}

}  // namespace tidemill
