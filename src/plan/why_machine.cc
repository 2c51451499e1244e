// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "plan/claims.h"
#include "plan/free_room.h"
#include "plan/why.h"
#include "plan/words.h"

namespace tidemill {
namespace {

std::int64_t SlotsOn(const PlanMachine& machine) {
  std::int64_t slots = 0;
  for (const MachineLease& lease : machine.leases) slots += lease.slots;
  return slots;
}

const std::string& NameOf(const SnapshotIndex& index, JobId id) {
  static const std::string kUnknown = "a job that is over";
  const auto job = index.FindJob(id);
  return job ? index.snapshot().jobs[*job].name : kUnknown;
}

Reason ToJoin(const WhyContext& context, const PlanMachine& machine, const PlanPool* pool) {
  const bool ordered = machine.state == MachineState::kOrdered;
  const Duration since = context.now - machine.since;
  std::string sentence = machine.id;
  sentence += ordered
                  ? " was ordered " + InWords(since) + " ago and the provider has not made it yet"
                  : " has been booting for " + InWords(since);
  if (pool != nullptr) {
    sentence += "; it is ended if that takes longer than " + InWords(pool->boot_limit);
  }
  return {ordered ? WhyCode::kMachineOrdered : WhyCode::kMachineBooting,
          machine.pool,
          sentence,
          {{"seconds", since.count() / 1'000'000}}};
}

Reason Draining(const PlanMachine& machine) {
  const std::int64_t slots = SlotsOn(machine);
  std::string sentence = machine.id + " drains: ";
  sentence += slots == 0 ? "nothing runs on it any more, and it is ended now"
                         : "it is ended when its last " + CountOf(slots, "item") +
                               (slots == 1 ? " is" : " are") + " done";
  return {WhyCode::kMachineDraining, machine.pool, sentence, {{"running", slots}}};
}

// A job with a row in the pool that could begin on the machine now, and one that is too large for
// what is free there.
struct Takers {
  const PlanJob* fits = nullptr;
  const PlanJob* too_large = nullptr;
};

Takers TakersOf(const WhyContext& context, const PlanMachine& machine, const FreeOn& on) {
  Takers takers;
  Resources free = on.free;
  if (on.empty) free.devices[kWholeMachine] = 1;
  for (const PlanRow& row : context.plan.rows) {
    if (row.pool != machine.pool) continue;
    const std::size_t number = *context.index.FindJob(row.job);
    const PlanJob& job = context.index.snapshot().jobs[number];
    const auto pool = context.index.FindPool(row.pool);
    const auto running = context.index.Running(number).find(*pool);
    const bool may = running == context.index.Running(number).end() || running->second < row.slots;
    if (!may || job.waiting == 0) continue;
    if (SlotsIn(free, job.need) == 0) {
      if (takers.too_large == nullptr) takers.too_large = &job;
    } else if (takers.fits == nullptr) {
      takers.fits = &job;
    }
  }
  return takers;
}

Reason Working(const WhyContext& context, const PlanMachine& machine, const PlanPool& pool) {
  const FreeOn on = FreeOf(context.index, machine);
  const Takers takers = TakersOf(context, machine, on);
  const std::string free = InWords(on.free);
  if (takers.fits != nullptr) {
    return {WhyCode::kMachineStarting,
            pool.name,
            machine.id + " has room (" + free + ") and may run " + takers.fits->name +
                ": it takes items when it asks next, within seconds",
            {}};
  }
  if (!machine.leases.empty()) {
    std::string sentence = machine.id + " runs " + CountOf(SlotsOn(machine), "item") +
                           ", most of " + NameOf(context.index, machine.leases.front().job) +
                           ", with " + free + " free; ";
    sentence += takers.too_large != nullptr ? takers.too_large->name + " asks " +
                                                  InWords(takers.too_large->need) + " an item"
                                            : "nothing else waits for it";
    return {WhyCode::kMachineFull, pool.name, sentence, {{"running", SlotsOn(machine)}}};
  }
  std::string sentence = machine.id + " is idle: ";
  sentence += takers.too_large != nullptr
                  ? takers.too_large->name + " asks " + InWords(takers.too_large->need) +
                        " an item, it has " + free
                  : "nothing waits that may run in pool '" + pool.name + "'";
  if (!pool.provider.empty()) {
    const Duration left = machine.idle_since + pool.idle - context.now;
    sentence += "; it is drained in " + InWords(std::max(left, Duration(0))) + " if that stays so";
  }
  return {WhyCode::kMachineIdle, pool.name, sentence, {}};
}

}  // namespace

std::vector<Reason> WhyMachine(const WhyContext& context, std::size_t number) {
  const SnapshotIndex& index = context.index;
  PlanMachine machine = index.snapshot().machines[number];
  const auto found = index.PoolOf(number);
  const PlanPool* pool = found ? &index.snapshot().pools[*found] : nullptr;
  // The job with the most slots stands for all of them.
  std::stable_sort(machine.leases.begin(), machine.leases.end(),
                   [](const auto& a, const auto& b) { return a.slots > b.slots; });
  switch (machine.state) {
    case MachineState::kOrdered:
    case MachineState::kBooting:
      return {ToJoin(context, machine, pool)};
    case MachineState::kDraining:
      return {Draining(machine)};
    case MachineState::kGone:
      return {{WhyCode::kMachineGone, machine.pool, machine.id + " is gone", {}}};
    case MachineState::kJoined:
      break;
  }
  if (pool == nullptr || pool->disabled) {
    return {{WhyCode::kMachineDisabled,
             machine.pool,
             machine.id + " gets no items: pool '" + machine.pool + "' is disabled; enable it",
             {}}};
  }
  for (const Reservation& one : context.plan.reserved) {
    if (one.machine != machine.id) continue;
    return {{WhyCode::kMachineReserved,
             pool->name,
             machine.id + " takes nothing but " + NameOf(index, one.job) +
                 ", whose items fit on no machine beside what runs now",
             {{"running", SlotsOn(machine)}}}};
  }
  return {Working(context, machine, *pool)};
}

}  // namespace tidemill
