// SPDX-License-Identifier: Apache-2.0
// What a decision costs must grow no faster than jobs and machines do. The figures are for people;
// the tests compare two sizes on the same machine by the processor's time, so that a busy machine
// or a sanitizer changes both alike. The aim is 50 ms for 1,000 jobs and 10,000 machines in an
// optimized build.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "plan/autoscale.h"
#include "plan/plan_test.h"
#include "plan/schedule.h"

namespace tidemill {
namespace {

using plan_test::JobOf;
using plan_test::kGiB;
using plan_test::kNow;
using plan_test::MachineOf;
using plan_test::PoolOf;
using plan_test::QueueOf;

// `jobs` jobs on ten times as many machines: 10 queues, 100 owners, needs of 200 kinds, 4 pools of
// machines with 16 to 64 cpus; `busy` of ten machines have leases of some jobs, each of its own.
Snapshot FleetOf(std::uint64_t jobs, std::uint64_t busy) {
  std::mt19937_64 dice(1);
  Snapshot world;
  for (int i = 0; i < 4; ++i) {
    PlanPool pool = PoolOf("p" + std::to_string(i));
    pool.shape = {16'000 * (i + 1), 64 * kGiB * (i + 1)};
    if (i == 3) pool.shape.devices["nvidia.com/gpu"] = 8;
    pool.max = 5000;
    world.pools.push_back(pool);
  }
  for (int i = 0; i < 10; ++i) {
    Queue queue = QueueOf("q" + std::to_string(i), {"p0", "p1", "p2", "p3"});
    queue.priority = i / 5;
    queue.share = 1 + i % 3;
    if (i == 7) queue.limits.cost_an_hour = plan_test::Dollars(50);
    world.queues.push_back(queue);
  }
  for (int i = 0; i < static_cast<int>(jobs); ++i) {
    const std::int64_t waiting = i % 3 == 0 ? 10 : 10'000'000;
    PlanJob job = JobOf(i + 1, "q" + std::to_string(i % 10), waiting);
    job.owner = "owner" + std::to_string(dice() % 100);
    const auto kind = static_cast<std::int64_t>(dice() % 200);
    job.need = {500 + 100 * (kind % 20), kGiB / 4 * (1 + kind / 20)};
    if (i % 50 == 0) job.need = {0, 0, {{kWholeMachine, 1}}};
    if (i % 40 == 1) job.need.devices["nvidia.com/gpu"] = 1;
    if (i % 7 == 0) job.max_parallel = 500;
    if (i % 11 == 0) job.budget = plan_test::Dollars(100);
    if (i % 2 == 0) job.times = plan_test::Takes(std::chrono::seconds(60));
    world.jobs.push_back(job);
  }
  for (int i = 0; i < static_cast<int>(10 * jobs); ++i) {
    PlanMachine machine = MachineOf(world.pools[static_cast<std::size_t>(i % 4)], i / 4);
    Resources free = machine.has;
    for (int tries = 0; dice() % 10 < busy && tries < 8; ++tries) {
      PlanJob& job = world.jobs[dice() % jobs];
      if (WantsWholeMachine(job.need)) continue;
      const auto slots = std::min<std::int64_t>(SlotsIn(free, job.need), 1 + i % 8);
      if (slots == 0) continue;
      Take(free, job.need, slots);
      machine.leases.push_back({job.id, slots, ""});
      job.leased += slots;
    }
    world.machines.push_back(machine);
  }
  return world;
}

double CpuMs(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) * 1e3 / CLOCKS_PER_SEC;
}

// The time of `large` in times of `small`. The rounds alternate, so that what else the machine does
// meanwhile meets both; the least of each is what the work itself takes.
double Ratio(const char* what, const std::function<void()>& small,
             const std::function<void()>& large) {
  double small_ms = std::numeric_limits<double>::max();
  double large_ms = small_ms;
  for (int round = 0; round < 5; ++round) {
    small_ms = std::min(small_ms, CpuMs(small));
    large_ms = std::min(large_ms, CpuMs(large));
  }
  std::printf("%s: %.1f ms, for four times as much %.1f ms\n", what, small_ms, large_ms);
  return large_ms / small_ms;
}

// Four times as many jobs and machines take four times as long, and a little more for what is
// sorted. With the square of one of them it would be sixteen times.
constexpr double kGrowsAtMost = 8;

TEST(Speed, APlanGrowsWithJobsAndMachines) {
  for (const std::uint64_t busy : {0, 5, 10}) {
    const Snapshot small = FleetOf(250, busy);
    const Snapshot large = FleetOf(1000, busy);
    std::size_t rows = 0;
    const std::string what = "plan, " + std::to_string(busy) + " of 10 busy";
    const double ratio = Ratio(
        what.c_str(), [&] { plan_test::PlanOf(small); },
        [&] { rows = plan_test::PlanOf(large).rows.size(); });
    EXPECT_LT(ratio, kGrowsAtMost) << what;
    EXPECT_GT(rows, 500U);
  }
}

TEST(Speed, AnAnswerOfTheAutoscalerGrowsWithJobsAndMachines) {
  const Snapshot small = FleetOf(250, 5);
  const Snapshot large = FleetOf(1000, 5);
  std::size_t orders = 0;
  const double ratio = Ratio(
      "autoscale", [&] { Autoscale(SnapshotIndex(small), kNow); },
      [&] { orders = Autoscale(SnapshotIndex(large), kNow).orders.size(); });
  EXPECT_LT(ratio, kGrowsAtMost);
  EXPECT_GT(orders, 0U);
}

}  // namespace
}  // namespace tidemill
