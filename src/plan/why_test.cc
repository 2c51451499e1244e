// SPDX-License-Identifier: Apache-2.0
#include "plan/why.h"

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "plan/plan_test.h"
#include "plan/words.h"

namespace tidemill {
namespace {

using namespace std::chrono_literals;
using plan_test::Dollars;
using plan_test::JobOf;
using plan_test::kGiB;
using plan_test::kNow;
using plan_test::MachineOf;
using plan_test::PoolOf;
using plan_test::QueueOf;
using plan_test::Takes;
using plan_test::World;

std::vector<Reason> Why(const Snapshot& world, bool machine = false, std::size_t number = 0) {
  const SnapshotIndex index(world);
  const Plan plan = MakePlan(index, kNow);
  const Wanted wanted = Autoscale(index, kNow);
  const WhyContext context{index, plan, wanted, kNow};
  return machine ? WhyMachine(context, number) : WhyJob(context, number);
}

// The reason of this code, as people see it; each code's test says its exact sentence.
std::string Sentence(const std::vector<Reason>& reasons, WhyCode code) {
  for (const Reason& reason : reasons) {
    if (reason.code == code) return reason.sentence;
  }
  std::string codes = "none; there is:";
  for (const Reason& reason : reasons) codes += " " + std::string(WhyName(reason.code));
  return codes;
}

void ExpectOnly(const std::vector<Reason>& reasons, WhyCode code, const std::string& sentence) {
  EXPECT_EQ(Sentence(reasons, code), sentence);
  EXPECT_EQ(reasons.size(), 1U);
}

// One job of 100 items that take a minute, on so many machines.
Snapshot OneJob(std::int64_t machines) {
  Snapshot world = World(machines);
  world.jobs = {JobOf(1, "q", 100)};
  world.jobs[0].times = Takes(60s);
  return world;
}

TEST(Why, HasANameForEveryCode) {
  std::set<std::string_view> names;
  for (int i = 0; i < kWhyCodes; ++i) names.insert(WhyName(static_cast<WhyCode>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kWhyCodes));
  EXPECT_EQ(WhyName(WhyCode::kPaused), "paused");
  EXPECT_EQ(WhyName(WhyCode::kTooLarge), "too_large");
  EXPECT_EQ(WhyName(WhyCode::kNoCapacity), "no_capacity");
  EXPECT_EQ(WhyName(WhyCode::kShare), "share");
  EXPECT_EQ(WhyName(WhyCode::kMachineOrdered), "machine_ordered");
  EXPECT_EQ(WhyName(WhyCode::kMachineStarting), "machine_starting");
}

TEST(WhyJob, Paused) {
  Snapshot world = OneJob(1);
  world.jobs[0].paused = "";
  ExpectOnly(Why(world), WhyCode::kPaused,
             "job-1 is paused; 'tidemill resume job-1' lets it go on");
  world.jobs[0].paused = "the first 20 attempts all failed alike";
  ExpectOnly(Why(world), WhyCode::kPaused,
             "job-1 is paused: the first 20 attempts all failed alike; "
             "'tidemill resume job-1' lets it go on");
}

TEST(WhyJob, After) {
  Snapshot world = OneJob(1);
  world.jobs[0].after = {{2}, {77}};
  world.jobs.push_back(JobOf(2, "q", 1));
  ExpectOnly(Why(world), WhyCode::kAfter, "it begins when job-2, 77 is over");
}

TEST(WhyJob, NoQueue) {
  Snapshot world = OneJob(1);
  world.jobs[0].queue = "night";
  ExpectOnly(Why(world), WhyCode::kNoQueue, "there is no queue 'night'; apply one of this name");
}

TEST(WhyJob, QueueDisabled) {
  Snapshot world = OneJob(1);
  world.queues[0].disabled = true;
  ExpectOnly(Why(world), WhyCode::kQueueDisabled,
             "queue 'q' is disabled; enable it to let its jobs run");
}

TEST(WhyJob, BackOff) {
  Snapshot world = OneJob(1);
  world.jobs[0].waiting = 0;
  world.jobs[0].resting = 3;
  world.jobs[0].rest_until = kNow + 41s;
  ExpectOnly(Why(world), WhyCode::kBackOff,
             "3 items failed and will be tried again, the next one in 41 s");
}

TEST(WhyJob, NothingLeft) {
  Snapshot world = OneJob(1);
  world.jobs[0].waiting = 0;
  ExpectOnly(Why(world), WhyCode::kNothingLeft, "nothing is left to start");
  world.jobs[0].leased = 12;
  ExpectOnly(Why(world), WhyCode::kNothingLeft,
             "nothing is left to start: its last 12 items are under way");
}

TEST(WhyJob, NoPools) {
  Snapshot world = OneJob(1);
  world.queues[0].pools = {};
  ExpectOnly(Why(world), WhyCode::kNoPools, "queue 'q' has no pools; give it one");
}

TEST(WhyJob, PoolMissing) {
  Snapshot world = OneJob(1);
  world.queues[0].pools = {"x"};
  ExpectOnly(Why(world), WhyCode::kPoolMissing,
             "queue 'q' names pool 'x', which does not exist; apply it, or take it out of the "
             "queue");
}

TEST(WhyJob, PoolDisabled) {
  Snapshot world = OneJob(1);
  world.pools[0].disabled = true;
  ExpectOnly(Why(world), WhyCode::kPoolDisabled, "pool 'p' is disabled; enable it to use it");
}

TEST(WhyJob, Labels) {
  Snapshot world = OneJob(1);
  world.jobs[0].labels = {{"disk", "fast"}, {"zone", "a"}};
  ExpectOnly(Why(world), WhyCode::kLabels,
             "pool 'p' does not have the labels that the job asks for (disk=fast, zone=a); "
             "change the job's labels or the pool's");
}

TEST(WhyJob, Devices) {
  Snapshot world = OneJob(1);
  world.jobs[0].need.devices = {{"nvidia.com/gpu", 2}};
  ExpectOnly(Why(world), WhyCode::kDevices,
             "pool 'p' has no machine with what an item asks for, 2 nvidia.com/gpu; "
             "use a pool that has them");
}

TEST(WhyJob, DevicesOfAnOlderDriver) {
  Snapshot world = OneJob(1);
  DeviceCount has = 4;
  has.model = "NVIDIA T4";
  has.version = 12002;
  DeviceCount asked = 1;
  asked.version = 12004;
  world.pools[0].shape.devices = world.machines[0].has.devices = {{"nvidia.com/gpu", has}};
  world.jobs[0].need.devices = {{"nvidia.com/gpu", asked}};
  ExpectOnly(Why(world), WhyCode::kDevices,
             "pool 'p' has no machine with what an item asks for, 1 nvidia.com/gpu (version 12.4): "
             "its machines have 4 nvidia.com/gpu (NVIDIA T4, version 12.2); "
             "use a pool that has them");
  world.jobs[0].need.devices.at("nvidia.com/gpu").version = 12002;
  for (const Reason& reason : Why(world)) EXPECT_NE(reason.code, WhyCode::kDevices);
}

TEST(WhyJob, TooLarge) {
  Snapshot world = OneJob(1);
  world.pools[0].shape.memory_bytes = world.machines[0].has.memory_bytes = kGiB * 304 / 10;
  world.jobs[0].need.memory_bytes = 31 * kGiB;
  const std::vector<Reason> reasons = Why(world);
  ExpectOnly(reasons, WhyCode::kTooLarge,
             "pool 'p': no machine is large enough: an item asks 31 GiB, the largest has 30.3 GiB; "
             "ask for less, or use a pool of larger machines");
  EXPECT_EQ(reasons[0].numbers.at("asked_bytes"), 31 * kGiB);
  EXPECT_EQ(reasons[0].pool, "p");
  world.jobs[0].need = {4500, kGiB};
  ExpectOnly(Why(world), WhyCode::kTooLarge,
             "pool 'p': no machine is large enough: an item asks 4.5 cpus, the largest has 4 cpus; "
             "ask for less, or use a pool of larger machines");
  world.machines[0].has = {1000, 64 * kGiB};
  world.jobs[0].need = {4000, 32 * kGiB};
  ExpectOnly(Why(world), WhyCode::kTooLarge,
             "pool 'p': no machine is large enough: an item asks 4 cpus, 32 GiB, which no single "
             "one has together; ask for less, or use a pool of larger machines");
}

TEST(WhyJob, Budget) {
  Snapshot world = OneJob(1);
  world.jobs[0].budget = Dollars(12.5);
  world.jobs[0].spent = Dollars(12.499);
  ExpectOnly(Why(world), WhyCode::kBudget,
             "its budget of $12.50 is used up: $12.50 are spent, the rest is what its running "
             "items may still cost; raise its budget");
}

TEST(WhyJob, MaxParallel) {
  Snapshot world = OneJob(1);
  world.jobs[0].max_parallel = 2;
  ExpectOnly(Why(world), WhyCode::kMaxParallel,
             "it runs the most that it asked for, 2 items side by side; raise its max_parallel for "
             "more");
}

TEST(WhyJob, RunningLimit) {
  Snapshot world = OneJob(1);
  world.queues[0].limits.running = 1;
  ExpectOnly(Why(world), WhyCode::kRunningLimit,
             "queue 'q' runs the most that it may, 1 item; wait, or raise its limit of running "
             "items");
}

TEST(WhyJob, MachinesLimit) {
  Snapshot world = OneJob(2);
  world.queues[0].limits.machines = 1;
  ExpectOnly(Why(world), WhyCode::kMachinesLimit,
             "queue 'q' uses the most that it may, 1 machine; wait, or raise its limit of "
             "machines");
}

TEST(WhyJob, CostLimit) {
  Snapshot world = OneJob(2);
  world.queues[0].limits.cost_an_hour = Dollars(0.25);
  ExpectOnly(Why(world), WhyCode::kCostLimit,
             "queue 'q' spends the most that it may, $0.25 an hour; wait, or raise its cost limit");
}

TEST(WhyJob, NoCapacity) {
  Snapshot world = OneJob(0);
  world.pools[0].provider_word = {kNow + 119s, 6, {}, "InsufficientInstanceCapacity in 1a, 1b"};
  ExpectOnly(Why(world), WhyCode::kNoCapacity,
             "pool 'p': the provider has no capacity: 'InsufficientInstanceCapacity in 1a, 1b', "
             "tried 6 times, again in 119 s; add kinds of machines, or another pool");
}

TEST(WhyJob, PriceCap) {
  Snapshot world = OneJob(0);
  world.pools[0].max_price = 50;
  world.pools[0].price = Dollars(0.34);
  ExpectOnly(Why(world), WhyCode::kPriceCap,
             "pool 'p' costs $0.34 an hour, its max_price allows $0.20; wait, or raise max_price");
}

TEST(WhyJob, Protected) {
  Snapshot world = OneJob(0);
  world.pools[0].never_joined = 3;
  world.pools[0].never_joined_at = kNow;
  ExpectOnly(Why(world), WhyCode::kProtected,
             "pool 'p' is protected: the last 3 machines never joined; one is tried in 15 min, or "
             "look at one's console, then: tidemill pools forgive p");
}

TEST(WhyJob, Quota) {
  Snapshot world = OneJob(2);
  world.pools[0].provider_word.quota = 2;
  world.pools[0].provider_word.no_capacity_until = kNow + 3min;
  world.pools[0].provider_word.words = "VcpuLimitExceeded";
  EXPECT_EQ(Sentence(Why(world), WhyCode::kQuota),
            "pool 'p': the provider's quota allows 2 machines: 'VcpuLimitExceeded'; ask the "
            "provider for more");
}

TEST(WhyJob, PoolMax) {
  Snapshot world = OneJob(2);
  world.pools[0].max = 2;
  EXPECT_EQ(Sentence(Why(world), WhyCode::kPoolMax),
            "pool 'p' has the most that it may, 2 machines; wait, or raise its max");
}

TEST(WhyJob, Steps) {
  Snapshot world = OneJob(1);
  world.pools[0].steps = {{1, 1}, {101, 2}};
  EXPECT_EQ(Sentence(Why(world), WhyCode::kSteps),
            "pool 'p' follows its steps, which give 1 machine for what waits now; change its steps "
            "for more");
}

TEST(WhyJob, NoMachines) {
  Snapshot world = OneJob(0);
  world.pools[0].provider.clear();
  ExpectOnly(Why(world), WhyCode::kNoMachines,
             "pool 'p' has no machines and no provider that makes some; start an agent there");
}

TEST(WhyJob, WaitsForMachines) {
  Snapshot world = OneJob(0);
  world.machines = {MachineOf(world.pools[0], 0, MachineState::kBooting)};
  world.pools[0].next_number = 1;
  world.machines[0].since = kNow - 40s;
  const std::vector<Reason> reasons = Why(world);
  ExpectOnly(reasons, WhyCode::kWaitsForMachines,
             "it waits for 3 machines of pool 'p', ordered up to 40 s ago; they join by "
             "themselves");
  EXPECT_EQ(reasons[0].numbers.at("machines"), 3);
}

TEST(WhyJob, Canary) {
  Snapshot world = OneJob(3);
  world.jobs[0].times.reset();
  ExpectOnly(Why(world), WhyCode::kCanary,
             "nothing is known yet of how long its items take: at most 3 machines are ordered for "
             "it until the first have succeeded");
}

TEST(WhyJob, ImagePull) {
  Snapshot world = OneJob(3);
  world.machines[1].leases = {{JobId{1}, 4, "pulling its image: 40 %"}};
  EXPECT_EQ(Sentence(Why(world), WhyCode::kImagePull),
            "1 machine gets ready for its items (p-1 is pulling its image: 40 %); they start by "
            "themselves");
}

TEST(WhyJob, Reserved) {
  Snapshot world = OneJob(1);
  world.pools[0].max = 1;
  world.jobs[0].need = {4000, 16 * kGiB};
  world.jobs.push_back(JobOf(2, "q", 100));
  world.machines[0].leases = {{JobId{2}, 3, ""}};
  ExpectOnly(Why(world), WhyCode::kReserved,
             "an item (4 cpus, 16 GiB) fits on no machine beside what runs now: p-0 takes nothing "
             "else until it does");
}

TEST(WhyJob, Share) {
  Snapshot world = OneJob(5);
  world.pools[0].provider.clear();
  world.jobs.push_back(JobOf(2, "q", 1000));
  for (PlanMachine& machine : world.machines) machine.leases = {{JobId{2}, 4, ""}};
  world.machines[0].leases = {{JobId{2}, 3, ""}, {JobId{1}, 1, ""}};
  ExpectOnly(Why(world), WhyCode::kShare,
             "its share is 10 of 20 slots, and it runs 1; 1 other job is served too, most of all "
             "job-2 (10); more comes as their items end");
}

TEST(WhyJob, Full) {
  Snapshot world = OneJob(1);
  world.pools[0].provider.clear();
  world.jobs.push_back(JobOf(2, "q", 100));
  world.jobs[1].paused = "";
  world.machines[0].leases = {{JobId{2}, 4, ""}};
  ExpectOnly(Why(world), WhyCode::kFull,
             "the machines that it may use are full; it gets room as items end there, or add "
             "machines");
}

TEST(WhyJob, Starting) {
  Snapshot world = OneJob(25);
  ExpectOnly(Why(world), WhyCode::kStarting,
             "nothing holds it up: agents take its items when they ask next, within seconds");
}

TEST(WhyJob, SaysTheMostTellingFirstAndPoolsThatDoNotAllowItLast) {
  Snapshot world = OneJob(0);
  world.queues[0].pools = {"x", "p"};
  world.pools[0].never_joined = 3;
  world.pools[0].never_joined_at = kNow;
  const std::vector<Reason> reasons = Why(world);
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].code, WhyCode::kProtected);
  EXPECT_EQ(reasons[1].code, WhyCode::kPoolMissing);
}

TEST(WhyMachine, Ordered) {
  Snapshot world = World(0);
  world.machines = {MachineOf(world.pools[0], 0, MachineState::kOrdered)};
  ExpectOnly(Why(world, true), WhyCode::kMachineOrdered,
             "p-0 was ordered 120 s ago and the provider has not made it yet; it is ended if that "
             "takes longer than 10 min");
}

TEST(WhyMachine, Booting) {
  Snapshot world = World(0);
  world.machines = {MachineOf(world.pools[0], 0, MachineState::kBooting)};
  ExpectOnly(Why(world, true), WhyCode::kMachineBooting,
             "p-0 has been booting for 120 s; it is ended if that takes longer than 10 min");
}

TEST(WhyMachine, Draining) {
  Snapshot world = World(1);
  world.machines[0].state = MachineState::kDraining;
  ExpectOnly(Why(world, true), WhyCode::kMachineDraining,
             "p-0 drains: nothing runs on it any more, and it is ended now");
  world.machines[0].leases = {{JobId{1}, 3, ""}};
  ExpectOnly(Why(world, true), WhyCode::kMachineDraining,
             "p-0 drains: it is ended when its last 3 items are done");
}

TEST(WhyMachine, Gone) {
  Snapshot world = World(1);
  world.machines[0].state = MachineState::kGone;
  ExpectOnly(Why(world, true), WhyCode::kMachineGone, "p-0 is gone");
}

TEST(WhyMachine, Disabled) {
  Snapshot world = World(1);
  world.pools[0].disabled = true;
  ExpectOnly(Why(world, true), WhyCode::kMachineDisabled,
             "p-0 gets no items: pool 'p' is disabled; enable it");
}

TEST(WhyMachine, Reserved) {
  Snapshot world = OneJob(1);
  world.jobs[0].need = {4000, 16 * kGiB};
  world.jobs.push_back(JobOf(2, "q", 100));
  world.machines[0].leases = {{JobId{2}, 3, ""}};
  ExpectOnly(Why(world, true), WhyCode::kMachineReserved,
             "p-0 takes nothing but job-1, whose items fit on no machine beside what runs now");
}

TEST(WhyMachine, Full) {
  Snapshot world = OneJob(1);
  world.machines[0].leases = {{JobId{1}, 4, ""}};
  ExpectOnly(Why(world, true), WhyCode::kMachineFull,
             "p-0 runs 4 items, most of job-1, with 0 cpus, 12 GiB free; nothing else waits for "
             "it");
}

TEST(WhyMachine, Idle) {
  Snapshot world = World(1);
  ExpectOnly(Why(world, true), WhyCode::kMachineIdle,
             "p-0 is idle: nothing waits that may run in pool 'p'; it is drained in 3 min if that "
             "stays so");
}

TEST(WhyMachine, Starting) {
  ExpectOnly(Why(OneJob(1), true), WhyCode::kMachineStarting,
             "p-0 has room (4 cpus, 16 GiB) and may run job-1: it takes items when it asks next, "
             "within seconds");
}

// There is always a reason, and 'nothing holds it up' is said only of what has somewhere to run; a
// machine that was kept for a job may be empty for the second in which it is given back.
RC_GTEST_PROP(WhyRules, ThereIsAlwaysAReason, (std::uint32_t seed)) {
  for (std::uint32_t i = 0; i < 20; ++i) {
    Snapshot world = plan_test::RandomSnapshot(seed + i);
    for (PlanMachine& machine : world.machines) machine.reserved_for.reset();
    const SnapshotIndex index(world);
    const Plan plan = MakePlan(index, kNow);
    const Wanted wanted = Autoscale(index, kNow);
    const WhyContext context{index, plan, wanted, kNow};
    for (std::size_t job = 0; job < world.jobs.size(); ++job) {
      const std::vector<Reason> reasons = WhyJob(context, job);
      RC_ASSERT(!reasons.empty());
      if (reasons[0].code != WhyCode::kStarting) continue;
      RC_ASSERT(plan_test::SlotsOf(plan, world.jobs[job].id.number) > 0);
    }
    for (std::size_t machine = 0; machine < world.machines.size(); ++machine) {
      RC_ASSERT(WhyMachine(context, machine).size() == 1U);
    }
  }
}

TEST(Words, AreWhatPeopleRead) {
  EXPECT_EQ(InWords(std::int64_t{1234567}), "1,234,567");
  EXPECT_EQ(InWords(std::int64_t{-1234}), "-1,234");
  EXPECT_EQ(InWords(std::int64_t{999}), "999");
  EXPECT_EQ(CountOf(1, "item"), "1 item");
  EXPECT_EQ(InWords(Money{1'700}), "$0.0017");
  EXPECT_EQ(InWords(Money{0}), "$0.00");
  EXPECT_EQ(InWords(Money{310'000'000}), "$310.00");
  EXPECT_EQ(InWords(Duration(90min)), "90 min");
  EXPECT_EQ(InWords(Duration(5h)), "5 h");
  EXPECT_EQ(BytesInWords(kGiB / 2), "512 MiB");
  EXPECT_EQ(CpusInWords(1000), "1 cpu");
  EXPECT_EQ(CpusInWords(1500), "1.5 cpus");
}

}  // namespace
}  // namespace tidemill
