// SPDX-License-Identifier: Apache-2.0
// What holds of every plan, over random snapshots, and over time in a small world.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "plan/caps.h"
#include "plan/claims.h"
#include "plan/free_room.h"
#include "plan/plan_test.h"
#include "plan/schedule.h"

namespace tidemill {
namespace {

using namespace std::chrono_literals;
using plan_test::JobOf;
using plan_test::kGiB;
using plan_test::kNow;
using plan_test::PlanOf;
using plan_test::QueueOf;
using plan_test::RandomSnapshot;
using plan_test::World;

// Each property looks at so many snapshots for each seed that rapidcheck draws: 2,000 in all.
constexpr std::uint32_t kScheduleSnapshots = 20;

std::int64_t RunningIn(const SnapshotIndex& index, std::size_t job, std::size_t pool) {
  const auto found = index.Running(job).find(pool);
  return found == index.Running(job).end() ? 0 : found->second;
}

struct Sums {
  std::int64_t running = 0;  // before
  std::int64_t added = 0;
};

// Of something that slots take from a limit.
template <typename Each>
void Count(Sums& sums, const SnapshotIndex& index, const Plan& plan, std::size_t job, Each each) {
  for (const auto& [pool, slots] : index.Running(job)) {
    sums.running += slots * each(SlotCostOf(index, job, pool));
  }
  for (const PlanRow& row : plan.rows) {
    if (row.job != index.snapshot().jobs[job].id) continue;
    const std::size_t pool = *index.FindPool(row.pool);
    sums.added += std::max<std::int64_t>(row.slots - RunningIn(index, job, pool), 0) *
                  each(SlotCostOf(index, job, pool));
  }
}

void ExpectBelow(const Sums& sums, std::int64_t limit) {
  if (sums.added > 0) RC_ASSERT(sums.running + sums.added <= limit);
}

std::int64_t One(const SlotCost&) { return 1; }

RC_GTEST_PROP(ScheduleRules, NoLimitIsPassedByWhatIsAdded, (std::uint32_t seed)) {
  for (std::uint32_t i = 0; i < kScheduleSnapshots; ++i) {
    const Snapshot world = RandomSnapshot(seed + i);
    const SnapshotIndex index(world);
    const Plan plan = MakePlan(index, kNow);
    std::map<std::string, Sums> items, machines, costs;
    for (std::size_t j = 0; j < world.jobs.size(); ++j) {
      const PlanJob& job = world.jobs[j];
      Sums slots, committed;
      Count(slots, index, plan, j, One);
      Count(committed, index, plan, j, [](const auto& cost) { return cost.committed.micros; });
      RC_ASSERT(slots.added <= job.waiting);
      if (job.max_parallel) ExpectBelow(slots, *job.max_parallel);
      if (job.budget) ExpectBelow(committed, job.budget->micros - job.spent.micros);
      Count(items[job.queue], index, plan, j, One);
      Count(machines[job.queue], index, plan, j, [](const auto& cost) { return cost.machine_ppm; });
      Count(costs[job.queue], index, plan, j, [](const auto& cost) { return cost.an_hour.micros; });
    }
    for (const Queue& queue : world.queues) {
      if (queue.limits.running) ExpectBelow(items[queue.name], *queue.limits.running);
      if (queue.limits.machines) {
        ExpectBelow(machines[queue.name], *queue.limits.machines * 1'000'000);
      }
      if (queue.limits.cost_an_hour) {
        ExpectBelow(costs[queue.name], queue.limits.cost_an_hour->micros);
      }
    }
  }
}

RC_GTEST_PROP(ScheduleRules, RowsAreOfJobsAndPoolsThatMayRun, (std::uint32_t seed)) {
  for (std::uint32_t i = 0; i < kScheduleSnapshots; ++i) {
    const Snapshot world = RandomSnapshot(seed + i);
    const SnapshotIndex index(world);
    for (const PlanRow& row : MakePlan(index, kNow).rows) {
      const auto job = index.FindJob(row.job);
      const auto pool = index.FindPool(row.pool);
      RC_ASSERT(row.slots > 0);
      RC_ASSERT(row.worn_slots <= row.slots);
      if (world.pools[*pool].spot) RC_ASSERT(row.worn_slots == 0);
      const JobBar bar = JobBarOf(index, *job);
      RC_ASSERT(bar == JobBar::kNone || bar == JobBar::kNothingWaits);
      RC_ASSERT(PoolBarOf(index, *job, pool) == PoolBar::kNone);
    }
  }
}

RC_GTEST_PROP(ScheduleRules, TheSameSnapshotGivesTheSamePlan, (std::uint32_t seed)) {
  for (std::uint32_t i = 0; i < kScheduleSnapshots; ++i) {
    Snapshot world = RandomSnapshot(seed + i);
    const Plan plan = PlanOf(world);
    RC_ASSERT(PlanOf(world) == plan);
    // In whatever order the machines are read.
    std::shuffle(world.machines.begin(), world.machines.end(), std::mt19937(seed));
    RC_ASSERT(PlanOf(world).rows == plan.rows || !plan.reserved.empty());
  }
}

// If a plan adds nothing, there is nothing that could begin.
RC_GTEST_PROP(ScheduleRules, NothingIsIdleThatSomebodyMayUse, (std::uint32_t seed)) {
  for (std::uint32_t i = 0; i < kScheduleSnapshots; ++i) {
    const Snapshot world = RandomSnapshot(seed + i);
    const SnapshotIndex index(world);
    const Plan plan = MakePlan(index, kNow);
    Sums all;
    for (std::size_t j = 0; j < world.jobs.size(); ++j) Count(all, index, plan, j, One);
    if (all.added > 0) continue;
    Caps caps(index);
    caps.AddRunning(index);
    for (const Claim& claim : ClaimsOf(index)) {
      for (std::size_t p = 0; p < claim.pools.size(); ++p) {
        if (claim.waiting == 0 || caps.Allow(claim, p, 1) == 0) continue;
        for (std::size_t m = 0; m < world.machines.size(); ++m) {
          const PlanMachine& machine = world.machines[m];
          if (machine.state != MachineState::kJoined || index.PoolOf(m) != claim.pools[p]) continue;
          if (machine.reserved_for) continue;
          FreeOn on = FreeOf(index, machine);
          if (on.empty) on.free.devices[kWholeMachine] = 1;
          RC_ASSERT(SlotsIn(on.free, world.jobs[claim.job].need) == 0);
        }
      }
    }
  }
}

// A world in which a plan is made each second and servers grant inside it, machine by machine.
class Seconds {
 public:
  // Between two plans servers grant by the one that they have.
  explicit Seconds(Snapshot world, int plan_every = 1)
      : plan_every_(plan_every), world_(std::move(world)) {}

  // Items of the job take so long.
  void SetTime(std::int64_t job, Duration time) { time_[{job}] = time; }
  void Submit(PlanJob job) {
    job.submitted = job.served = now_;
    world_.jobs.push_back(std::move(job));
  }
  void Step() {
    now_ += 1s;
    Charge();
    End();
    if (steps_++ % plan_every_ == 0) MakePlanAnew();
    // Whoever asks first: the last machine, and of the jobs the first.
    for (auto machine = world_.machines.rbegin(); machine != world_.machines.rend(); ++machine) {
      for (const PlanRow& row : plan_.rows) Grant(*machine, row);
    }
  }
  std::int64_t Started(std::int64_t job) const {
    const auto found = started_.find({job});
    return found == started_.end() ? 0 : found->second;
  }
  std::int64_t RunningOf(JobId job) const {
    return std::count_if(running_.begin(), running_.end(),
                         [job](const Item& item) { return item.job == job; });
  }
  // How many seconds until the job has started something; at most `limit`.
  int SecondsUntilStarted(std::int64_t job, int limit) {
    int seconds = 0;
    while (Started(job) == 0 && seconds < limit) {
      Step();
      ++seconds;
    }
    return seconds;
  }
  Money Spent(std::size_t nth_job) const { return world_.jobs[nth_job].spent; }

 private:
  struct Item {
    JobId job;
    std::size_t machine = 0;
    TimePoint end;
  };

  void MakePlanAnew() {
    plan_ = PlanOf(world_, now_);
    for (PlanMachine& machine : world_.machines) {
      machine.reserved_for.reset();
      for (const Reservation& one : plan_.reserved) {
        if (one.machine == machine.id) machine.reserved_for = one.job;
      }
    }
  }
  // A machine on which something runs is paid for by the first job there.
  void Charge() {
    for (const PlanMachine& machine : world_.machines) {
      if (machine.leases.empty()) continue;
      for (PlanJob& job : world_.jobs) {
        if (job.id == machine.leases.front().job) job.spent += CostOf(machine.price, 1s);
      }
    }
  }
  void End() {
    std::erase_if(running_, [this](const Item& item) {
      if (item.end > now_) return false;
      Lease(world_.machines[item.machine], item.job, -1);
      return true;
    });
  }
  void Lease(PlanMachine& machine, JobId job, std::int64_t slots) {
    auto found = std::find_if(machine.leases.begin(), machine.leases.end(),
                              [job](const MachineLease& lease) { return lease.job == job; });
    if (found == machine.leases.end()) found = machine.leases.insert(found, {job, 0, ""});
    found->slots += slots;
    if (found->slots == 0) machine.leases.erase(found);
  }
  void Grant(PlanMachine& machine, const PlanRow& row) {
    if (machine.pool != row.pool) return;
    if (machine.reserved_for && *machine.reserved_for != row.job) return;
    PlanJob& job = *std::find_if(world_.jobs.begin(), world_.jobs.end(),
                                 [&](const PlanJob& other) { return other.id == row.job; });
    while (job.waiting > 0 && RunningOf(row.job) < row.slots) {  // one pool: all run in it
      const FreeOn on = FreeOf(SnapshotIndex(world_), machine);
      if (SlotsIn(on.free, job.need) == 0) return;
      Lease(machine, row.job, 1);
      running_.push_back({row.job, static_cast<std::size_t>(&machine - world_.machines.data()),
                          now_ + time_[row.job]});
      --job.waiting;
      job.served = now_;
      ++started_[row.job];
    }
  }

  const int plan_every_;
  int steps_ = 0;
  TimePoint now_ = kNow;
  Snapshot world_;
  Plan plan_;
  std::map<JobId, Duration> time_;
  std::map<JobId, std::int64_t> started_;
  std::vector<Item> running_;
};

TEST(ScheduleOverTime, TenItemsBehindTenMillionBeginWithinOneItem) {
  Seconds world(World(5), 4);  // items end between plans, and nobody takes back what it gives up
  world.SetTime(1, 10s);
  world.SetTime(2, 10s);
  world.Submit(JobOf(1, "q", 10'000'000));
  for (int i = 0; i < 25; ++i) world.Step();
  ASSERT_EQ(world.RunningOf({1}), 20);
  world.Submit(JobOf(2, "q", 10));
  EXPECT_LE(world.SecondsUntilStarted(2, 100), 11);
  for (int i = 0; i < 10; ++i) world.Step();
  EXPECT_EQ(world.Started(2), 10);  // all of them, within one more item
}

TEST(ScheduleOverTime, SharesComeTrueAsItemsEnd) {
  Snapshot two = World(10);
  two.queues = {QueueOf("a", {"p"}), QueueOf("b", {"p"})};
  two.queues[0].share = 3;
  Seconds world(two);
  world.SetTime(1, 7s);
  world.SetTime(2, 7s);
  world.Submit(JobOf(2, "b", 1'000'000));
  for (int i = 0; i < 20; ++i) world.Step();
  EXPECT_EQ(world.RunningOf({2}), 40);
  world.Submit(JobOf(1, "a", 1'000'000));
  for (int i = 0; i < 8; ++i) world.Step();
  EXPECT_EQ(world.RunningOf({1}), 30);
  EXPECT_EQ(world.RunningOf({2}), 10);
}

// Above it there is always more work than machines; it runs an item each time its patience ends.
TEST(ScheduleOverTime, NobodyWithAShareStarvesBehindAPriority) {
  Snapshot two = World(2);
  two.queues = {QueueOf("high", {"p"}), QueueOf("low", {"p"})};
  two.queues[0].priority = 10;
  Seconds world(two);
  world.SetTime(1, 20s);
  world.SetTime(2, 20s);
  world.SetTime(3, 20s);
  world.Submit(JobOf(1, "high", 1'000'000));
  world.Step();
  world.Submit(JobOf(2, "low", 1'000'000));
  world.Submit(JobOf(3, "low", 1'000'000));
  EXPECT_LE(world.SecondsUntilStarted(2, 1000), 300 + 21);
  EXPECT_LE(world.SecondsUntilStarted(3, 1000), 21);
  for (int i = 0; i < 1000; ++i) world.Step();
  EXPECT_GE(world.Started(2), 4);
  EXPECT_LE(world.Started(2) + world.Started(3), 10);  // and no more than that
}

// S21: 50 machines of 0.40 $ an hour spend 1.50 $ in 270 s.
TEST(ScheduleOverTime, ABudgetIsPassedByNoMoreThanTheLastMinutesOfItsMachines) {
  for (const auto time : {2s, 60s, 900s}) {
    Seconds world(World(50));
    world.SetTime(1, time);
    PlanJob job = JobOf(1, "q", 10'000'000);
    job.budget = plan_test::Dollars(5);
    job.times = plan_test::Takes(time);
    world.Submit(job);
    int quiet = 0;
    for (int i = 0; i < 10'000 && quiet < 100; ++i) {
      world.Step();
      quiet = world.RunningOf({1}) == 0 ? quiet + 1 : 0;
    }
    EXPECT_GE(quiet, 100) << "it still runs";
    EXPECT_LE(world.Spent(0), plan_test::Dollars(6.50));
    EXPECT_GE(world.Spent(0), plan_test::Dollars(4.50)) << "it stopped too early";
  }
}

// Small items end one by one on all machines, so that a whole machine is never free by itself.
TEST(ScheduleOverTime, ALargeItemGetsItsMachineWithinTheLongestItem) {
  Seconds world(World(8));
  world.SetTime(1, 13s);
  world.SetTime(2, 13s);
  PlanJob small = JobOf(1, "q", 0);
  world.Submit(small);
  for (int i = 0; i < 32; ++i) {  // so that they do not end together
    PlanJob other = JobOf(100 + i, "q", 1'000'000);
    world.SetTime(100 + i, 5s + i % 9 * 1s);
    world.Submit(other);
  }
  for (int i = 0; i < 50; ++i) world.Step();
  PlanJob large = JobOf(2, "q", 100);
  large.need = {4000, 16 * kGiB};
  world.Submit(large);
  EXPECT_LE(world.SecondsUntilStarted(2, 1000), 14);
}

// On one machine both cannot have a share: they take turns.
TEST(ScheduleOverTime, ALargeAndASmallJobTakeTurnsOnOneMachine) {
  Seconds world(World(1));
  world.SetTime(1, 5s);
  world.SetTime(2, 5s);
  world.Submit(JobOf(1, "q", 1'000'000));
  for (int i = 0; i < 10; ++i) world.Step();
  PlanJob large = JobOf(2, "q", 1'000'000);
  large.need = {4000, 16 * kGiB};
  world.Submit(large);
  EXPECT_LE(world.SecondsUntilStarted(2, 1000), 6);
  const std::int64_t small = world.Started(1);
  for (int i = 0; i < 200; ++i) world.Step();
  EXPECT_GE(world.Started(2), 10);
  EXPECT_GE(world.Started(1) - small, 40);
}

}  // namespace
}  // namespace tidemill
