// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "plan/free_room.h"
#include "plan/plan_test.h"

namespace tidemill::plan_test {
namespace {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t Upto(std::int64_t most) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most + 1));
  }
  bool In(int n) { return Upto(n - 1) == 0; }

 private:
  std::mt19937_64 engine_;
};

const char* const kGpu = "nvidia.com/gpu";

PlanPool RandomPool(Dice& dice, int number) {
  PlanPool pool = PoolOf("p" + std::to_string(number));
  if (dice.In(6)) pool.provider.clear();
  pool.shape = {1000 * (1 + dice.Upto(15)), kGiB * (1 + dice.Upto(63))};
  if (dice.In(4)) pool.shape.devices[kGpu] = static_cast<std::int32_t>(1 + dice.Upto(3));
  pool.spot = dice.In(2);
  pool.on_demand = {1 + dice.Upto(2'000'000)};
  pool.price = pool.spot ? Money{dice.Upto(pool.on_demand.micros * 3 / 2)} : pool.on_demand;
  pool.max = dice.Upto(30);
  pool.min = std::min(pool.max, dice.Upto(3));
  if (dice.In(3)) pool.max_price = static_cast<std::int32_t>(20 + dice.Upto(120));
  if (dice.In(5)) pool.unit = SizeUnit::kVcpus;
  if (dice.In(5)) pool.labels["zone"] = "a";
  if (dice.In(8)) pool.steps = {{1, 1}, {101, 2 + dice.Upto(5)}};
  pool.disabled = dice.In(10);
  if (dice.In(3)) pool.billed_at_least = std::chrono::seconds(dice.Upto(600));
  if (dice.In(6)) {
    pool.provider_word.no_capacity_until = kNow + std::chrono::seconds(dice.Upto(600) - 300);
  }
  if (dice.In(8)) pool.provider_word.quota = dice.Upto(20);
  pool.never_joined = static_cast<std::int32_t>(dice.In(8) ? dice.Upto(4) : 0);
  return pool;
}

PlanJob RandomJob(Dice& dice, std::int64_t number) {
  PlanJob job = JobOf(number, "q" + std::to_string(dice.Upto(3)), dice.Upto(dice.In(3) ? 3 : 5000));
  job.owner = dice.In(2) ? "ann" : "bob";
  job.priority = static_cast<std::int32_t>(dice.Upto(2));
  job.served = kNow - std::chrono::seconds(dice.Upto(900));
  job.need = {250 * (1 + dice.Upto(31)), kGiB / 4 * (1 + dice.Upto(31))};
  if (dice.In(8)) job.need = {0, 0, {{kWholeMachine, 1}}};
  if (dice.In(6)) job.need.devices[kGpu] = 1;
  if (dice.In(3)) job.max_parallel = 1 + dice.Upto(40);
  if (dice.In(3)) job.budget = Money{dice.Upto(2'000'000)};
  if (dice.In(2)) job.spent = {dice.Upto(1'000'000)};
  if (dice.In(2)) job.times = Takes(std::chrono::seconds(1 + dice.Upto(600)));
  if (dice.In(5)) job.deadline = kNow + std::chrono::minutes(dice.Upto(600) - 60);
  if (dice.In(6)) job.labels["zone"] = "a";
  if (dice.In(4)) job.worn_waiting = dice.Upto(job.waiting);
  if (dice.In(15)) job.paused = "";
  if (dice.In(15)) job.after = {{9999}};
  return job;
}

Queue RandomQueue(Dice& dice, int number, const std::vector<PlanPool>& pools) {
  Queue queue = QueueOf("q" + std::to_string(number), {});
  for (const PlanPool& pool : pools) {
    if (!dice.In(3)) queue.pools.push_back(pool.name);
  }
  queue.priority = static_cast<std::int32_t>(dice.Upto(2));
  queue.share = static_cast<std::int32_t>(dice.Upto(4));
  if (dice.In(3)) queue.limits.running = dice.Upto(60);
  if (dice.In(3)) queue.limits.machines = dice.Upto(20);
  if (dice.In(3)) queue.limits.cost_an_hour = Money{dice.Upto(10'000'000)};
  queue.disabled = dice.In(12);
  return queue;
}

// Leases that fit, of jobs that are there.
void Busy(Dice& dice, Snapshot& world, PlanMachine& machine) {
  for (std::int64_t tries = dice.Upto(4); tries > 0 && !world.jobs.empty(); --tries) {
    PlanJob& job = world.jobs[static_cast<std::size_t>(
        dice.Upto(static_cast<std::int64_t>(world.jobs.size()) - 1))];
    const bool has = std::any_of(machine.leases.begin(), machine.leases.end(),
                                 [&](const auto& lease) { return lease.job == job.id; });
    if (has || (WantsWholeMachine(job.need) && !machine.leases.empty())) continue;
    FreeOn on = FreeOf(SnapshotIndex(world), machine);
    if (on.empty) on.free.devices[kWholeMachine] = 1;
    const std::int64_t slots = std::min<std::int64_t>(SlotsIn(on.free, job.need), 1 + dice.Upto(9));
    if (slots <= 0) continue;
    machine.leases.push_back({job.id, slots, ""});
    job.leased += slots;
    if (dice.In(4)) job.worn_leased += dice.Upto(slots);
  }
}

}  // namespace

Snapshot RandomSnapshot(std::uint32_t seed) {
  Dice dice(seed);
  Snapshot world;
  const std::int64_t pools = 1 + dice.Upto(3);
  for (int i = 0; i < pools; ++i) world.pools.push_back(RandomPool(dice, i));
  for (int i = 0; i < 4; ++i) {
    if (!dice.In(8)) world.queues.push_back(RandomQueue(dice, i, world.pools));
  }
  const std::int64_t jobs = dice.Upto(12);
  for (std::int64_t i = 1; i <= jobs; ++i) world.jobs.push_back(RandomJob(dice, i));
  const std::int64_t machines = dice.Upto(25);
  for (std::int64_t i = 0; i < machines; ++i) {
    PlanPool& pool = world.pools[static_cast<std::size_t>(dice.Upto(pools - 1))];
    const auto state = dice.In(2) ? MachineState::kJoined : static_cast<MachineState>(dice.Upto(4));
    PlanMachine machine = MachineOf(pool, pool.next_number++, state);
    machine.since = machine.billed_from = kNow - std::chrono::seconds(dice.Upto(1200));
    if (machine.joined) machine.joined = machine.billed_from + std::chrono::seconds(dice.Upto(300));
    machine.idle_since = kNow - std::chrono::seconds(dice.Upto(600));
    if (dice.In(4)) machine.has.millicpus += 1000;  // machines of a pool may differ
    if (state == MachineState::kJoined || state == MachineState::kDraining) {
      Busy(dice, world, machine);
    }
    if (dice.In(10)) machine.reserved_for = JobId{1 + dice.Upto(12)};
    world.machines.push_back(std::move(machine));
  }
  return world;
}

}  // namespace tidemill::plan_test
