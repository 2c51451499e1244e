// SPDX-License-Identifier: Apache-2.0
#include "sim/plan.h"

#include <algorithm>

#include "base/limits.h"
#include "base/random.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Each kind of fault is off in half of the runs: some errors show only when others do not hide
// them.
double SomeChance(Random& random, double most) {
  return random.Chance(0.5) ? 0 : random.Unit() * most;
}

std::int64_t Upto(Random& random, std::int64_t most) {
  return 1 + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(most)));
}

Duration SomeTime(Random& random, Duration least, Duration most) {
  return least + Duration(static_cast<std::int64_t>(
                     random.Below(static_cast<std::uint64_t>((most - least).count()) + 1)));
}

PlannedJob DrawJob(Random& random, Duration chaos, std::int64_t most_parts) {
  PlannedJob job;
  const std::int64_t parts = Upto(random, most_parts);
  for (std::int64_t i = 0; i < parts; ++i) {
    job.parts.push_back(static_cast<int>(Upto(random, 64)));
  }
  job.retries = static_cast<int>(random.Below(4));
  job.begins = SomeTime(random, Duration::zero(), chaos / 2);
  if (random.Chance(0.2)) job.max_parallel = Upto(random, 10);
  if (random.Chance(0.2)) job.priority = static_cast<int>(random.Below(3));
  return job;
}

void DrawKnobs(Random& random, SimPlan& plan) {
  plan.limits.session_life = SomeTime(random, seconds(2), seconds(60));
  plan.limits.heartbeat = plan.limits.session_life / 6;
  plan.limits.gather = SomeTime(random, milliseconds(0), milliseconds(20));
  plan.limits.batches_in_flight = static_cast<int>(Upto(random, 3));
  plan.limits.reap_every = SomeTime(random, milliseconds(200), milliseconds(5200));
  plan.limits.poll_every = SomeTime(random, milliseconds(50), milliseconds(500));
  plan.limits.refresh_every = SomeTime(random, milliseconds(500), seconds(5));
  plan.limits.tidy_every = seconds(20);
  // In some runs tokens are turned over all the time.
  if (random.Chance(0.5)) plan.limits.session_token_life = plan.limits.session_life * 4;
}

void DrawScript(Random& random, SimPlan& plan) {
  Script& script = plan.script;
  script.seed = plan.seed;
  script.join_token = "tidemill_join_of_the_simulator";
  script.session_life = plan.limits.session_life;
  script.heartbeat = plan.limits.heartbeat;
  script.shape.memory_bytes = 8LL << 30;
  script.shape.millicpus = 1000 * Upto(random, 8);
  script.item_ms = Upto(random, 5000);
  script.lease_time = SomeTime(random, milliseconds(0), milliseconds(8000));
  script.failing_ppm = static_cast<std::int64_t>(SomeChance(random, 200'000));
  script.repeats = SomeChance(random, 0.5);
  script.lies = SomeChance(random, 0.3);
  script.splits = SomeChance(random, 0.5);
  script.leaves = SomeChance(random, 0.1);
  script.gives_back = SomeChance(random, 0.3);
  script.comes_late = SomeChance(random, 0.1);
  script.vanishes = SomeChance(random, 0.2);
}

// `busy`: so many faults that little gets done; else as few as a bad day has.
void DrawFaults(Random& random, bool busy, Faults& faults) {
  const double share = busy ? 1 : 0.1;
  faults.store = {SomeChance(random, 0.1 * share), SomeChance(random, 0.1 * share),
                  SomeChance(random, 0.05)};
  faults.network = {SomeChance(random, 0.1 * share), SomeChance(random, 0.2 * share),
                    SomeChance(random, 0.3 * share), SomeChance(random, 0.005 * share)};
  faults.machine = {.lost_container = SomeChance(random, 0.1 * share),
                    .engine_away = SomeChance(random, 0.3 * share),
                    .trouble = SomeChance(random, 0.02 * share),
                    .crash = SomeChance(random, 0.02 * share),
                    .pause = SomeChance(random, 0.005 * share),
                    .disk_full = SomeChance(random, 0.005 * share),
                    .unsynced = SomeChance(random, 0.5)};
  faults.objects = {SomeChance(random, 0.2), SomeChance(random, 0.2)};
  faults.server_crash = SomeChance(random, 0.05 * share);
  faults.leader_pause = SomeChance(random, 0.02 * share);
  faults.person = SomeChance(random, 0.05 * share);
}

void DrawCloud(Random& random, SimPlan& plan) {
  const std::int64_t pools = Upto(random, 3);
  for (std::int64_t i = 0; i < pools; ++i) {
    PlannedPool pool;
    pool.max = Upto(random, 12);
    pool.min = random.Chance(0.1) ? 1 : 0;
    pool.millicpus = 1000 * Upto(random, 4);
    pool.spot = random.Chance(0.7);
    pool.price = {10'000 * Upto(random, 100)};
    pool.idle = SomeTime(random, seconds(10), minutes(5));
    pool.boot = SomeTime(random, seconds(1), minutes(3));
    plan.pools.push_back(pool);
  }
  plan.faults.cloud = {.error = SomeChance(random, 0.2),
                       .unknown = SomeChance(random, 0.2),
                       .no_capacity = SomeChance(random, 0.1),
                       .never_up = SomeChance(random, 0.1),
                       .interrupted = SomeChance(random, 6),
                       .notice = random.Unit(),
                       .listing_late = SomeTime(random, seconds(0), minutes(1))};
}

// By a stream of its own: they came later, and seeds are known by what they did before.
void DrawOutages(std::uint64_t seed, CloudFaults& faults) {
  SeededRandom random(seed, "outages");
  faults.outage = SomeChance(random, 0.5);
  faults.forgotten = SomeChance(random, 1);
  faults.quota = SomeChance(random, 1);
}

// Played agents, and some real ones that stand by themselves: short items, many faults.
void DrawCrowd(Random& random, SimPlan& plan) {
  plan.agents = static_cast<int>(Upto(random, 12));
  plan.machines = static_cast<int>(random.Below(6));
  plan.chaos = SomeTime(random, seconds(30), seconds(300));
  const std::int64_t jobs = Upto(random, 4);
  for (std::int64_t i = 0; i < jobs; ++i) plan.jobs.push_back(DrawJob(random, plan.chaos, 6));
  for (PlannedJob& job : plan.jobs) job.item_ms = plan.script.item_ms;
  // One kind of agent alone must do as well.
  if (plan.machines > 0 && random.Chance(0.3)) plan.agents = 0;
  if (plan.agents > 0) return;
  for (PlannedJob& job : plan.jobs) {
    job.stores = random.Chance(0.3);
    if (random.Chance(0.2)) job.poison_ppm = static_cast<std::int64_t>(random.Below(30'000));
    // Played agents know nothing of memory.
    if (!random.Chance(0.5)) continue;
    job.memory_bytes = 64 << 20;
    job.memory_max = job.memory_bytes << random.Below(5);
  }
}

// So long that all jobs together are done in about an hour on all machines.
std::int64_t MostItemMs(const SimPlan& plan, const PlannedJob& job, std::int64_t jobs) {
  std::int64_t slots = 0;
  for (const PlannedPool& pool : plan.pools) slots += pool.max * pool.millicpus / 1000;
  if (job.max_parallel > 0) slots = std::min(slots, job.max_parallel);
  std::int64_t items = 0;
  for (const int part : job.parts) items += part;
  constexpr std::int64_t kHourMs = 3'600'000;
  return std::clamp<std::int64_t>(2 * kHourMs * slots / (items * jobs), 1000, kHourMs / 2);
}

// Machines of a cloud, which come and go; items of minutes.
void DrawFleet(Random& random, SimPlan& plan) {
  plan.agents = 0;
  plan.machines = random.Chance(0.2) ? 1 : 0;
  plan.chaos = SomeTime(random, minutes(5), minutes(60));
  DrawCloud(random, plan);
  const std::int64_t jobs = Upto(random, 5);
  for (std::int64_t i = 0; i < jobs; ++i) {
    PlannedJob& job = plan.jobs.emplace_back(DrawJob(random, plan.chaos, 12));
    job.item_ms = Upto(random, MostItemMs(plan, job, jobs));
    job.stores = random.Chance(0.2);
    if (random.Chance(0.1)) job.poison_ppm = static_cast<std::int64_t>(random.Below(10'000));
    // Enough for it to be known how long its items take.
    if (random.Chance(0.2)) {
      std::int64_t an_hour = 0;
      for (const PlannedPool& pool : plan.pools) an_hour += pool.max * pool.price.micros;
      job.budget = {2 * MulDiv(an_hour, job.item_ms, 3'600'000) + 1000};
    }
  }
}

// Many machines for hours, and few faults: what shows only in the long run, or in a crowd.
void DrawLarge(Random& random, SimPlan& plan) {
  plan.agents = 0;
  plan.machines = 0;
  plan.chaos = SomeTime(random, minutes(60), minutes(120));
  plan.limits.session_life = SomeTime(random, minutes(1), minutes(5));
  plan.limits.heartbeat = plan.limits.session_life / 6;
  plan.script.session_life = plan.limits.session_life;
  plan.script.heartbeat = plan.limits.heartbeat;
  plan.limits.tidy_every = minutes(30);
  plan.limits.plan_every = SomeTime(random, seconds(1), seconds(10));
  plan.agent_tick = seconds(10);
  PlannedPool pool;
  pool.max = 40 + Upto(random, 80);
  pool.millicpus = 1000 * Upto(random, 4);
  pool.price = {10'000 * Upto(random, 100)};
  plan.pools.push_back(pool);
  plan.faults.cloud = {.error = SomeChance(random, 0.02),
                       .unknown = SomeChance(random, 0.02),
                       .never_up = SomeChance(random, 0.02),
                       .interrupted = SomeChance(random, 0.2),
                       .notice = random.Unit(),
                       .listing_late = SomeTime(random, seconds(0), minutes(1))};
  const std::int64_t jobs = Upto(random, 3);
  for (std::int64_t i = 0; i < jobs; ++i) {
    PlannedJob& job = plan.jobs.emplace_back(DrawJob(random, minutes(10), 30));
    job.max_parallel = 0;
    job.item_ms = 2 * MostItemMs(plan, job, jobs);
  }
}

// Items by the hundred thousand, of no length, from agents that do little but talk.
void DrawBulk(Random& random, SimPlan& plan) {
  plan.agents = static_cast<int>(4 + Upto(random, 28));
  plan.machines = 0;
  plan.chaos = SomeTime(random, minutes(1), minutes(5));
  plan.script.item_ms = Upto(random, 20);
  plan.script.lease_time = SomeTime(random, milliseconds(0), milliseconds(1000));
  plan.script.failing_ppm /= 20;
  PlannedJob& job = plan.jobs.emplace_back(DrawJob(random, seconds(20), 1));
  job.parts.assign(static_cast<std::size_t>(Upto(random, 200)), limits::kItemsPerChunk);
  job.max_parallel = 0;
}

}  // namespace

std::string PoolNameOf(std::size_t number) { return "pool" + std::to_string(number); }

SimPlan DrawPlan(std::uint64_t seed) {
  SeededRandom random(seed, "plan");
  SimPlan plan;
  plan.seed = seed;
  plan.servers = static_cast<int>(Upto(random, 3));
  DrawKnobs(random, plan);
  DrawScript(random, plan);
  const std::uint64_t kind = random.Below(10);
  DrawFaults(random, kind < 5 || kind == 9 || random.Chance(0.3), plan.faults);
  if (kind < 5) {
    DrawCrowd(random, plan);
  } else if (kind < 8) {
    DrawFleet(random, plan);
  } else if (kind == 8) {
    DrawLarge(random, plan);
  } else {
    DrawBulk(random, plan);
  }
  if (!plan.pools.empty()) DrawOutages(seed, plan.faults.cloud);
  return plan;
}

}  // namespace tidemill
