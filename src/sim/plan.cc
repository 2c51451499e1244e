// SPDX-License-Identifier: Apache-2.0
#include "sim/plan.h"

#include "base/random.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Each kind of fault is off in half of the runs: some errors show only when others do not hide
// them.
double SomeChance(Random& random, double most) {
  return random.Chance(0.5) ? 0 : random.Unit() * most;
}

PlannedJob DrawJob(Random& random, Duration chaos) {
  PlannedJob job;
  const std::uint64_t parts = 1 + random.Below(6);
  for (std::uint64_t i = 0; i < parts; ++i)
    job.parts.push_back(1 + static_cast<int>(random.Below(64)));
  job.retries = static_cast<int>(random.Below(4));
  job.begins = Duration(
      static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(chaos.count()) / 2)));
  return job;
}

}  // namespace

SimPlan DrawPlan(std::uint64_t seed) {
  SeededRandom random(seed, "plan");
  SimPlan plan;
  plan.seed = seed;
  plan.servers = 1 + static_cast<int>(random.Below(3));
  plan.agents = 1 + static_cast<int>(random.Below(12));
  plan.chaos = seconds(30 + random.Below(270));
  const std::uint64_t jobs = 1 + random.Below(4);
  for (std::uint64_t i = 0; i < jobs; ++i) plan.jobs.push_back(DrawJob(random, plan.chaos));

  plan.limits.session_life = milliseconds(2000 + random.Below(58'000));
  plan.limits.gather = milliseconds(random.Below(20));
  plan.limits.batches_in_flight = 1 + static_cast<int>(random.Below(3));
  plan.limits.reap_every = milliseconds(200 + random.Below(5000));
  plan.limits.tidy_every = seconds(20);
  // In some runs tokens are turned over all the time.
  if (seed % 2 == 0) plan.limits.session_token_life = plan.limits.session_life * 4;

  Script& script = plan.script;
  script.seed = seed;
  script.join_token = "tidemill_join_of_the_simulator";
  script.session_life = plan.limits.session_life;
  script.heartbeat = plan.limits.session_life / 6;
  script.shape.memory_bytes = 8LL << 30;
  script.shape.millicpus = 1000 * (1 + static_cast<std::int64_t>(random.Below(8)));
  script.item_ms = 1 + static_cast<std::int64_t>(random.Below(5000));
  script.lease_time = milliseconds(random.Below(8000));
  script.failing_ppm = static_cast<std::int64_t>(SomeChance(random, 200'000));
  script.repeats = SomeChance(random, 0.5);
  script.lies = SomeChance(random, 0.3);
  script.splits = SomeChance(random, 0.5);
  script.leaves = SomeChance(random, 0.1);
  script.gives_back = SomeChance(random, 0.3);
  script.comes_late = SomeChance(random, 0.1);
  script.vanishes = SomeChance(random, 0.2);

  plan.store_faults = {SomeChance(random, 0.1), SomeChance(random, 0.1)};
  plan.network_faults = {SomeChance(random, 0.1), SomeChance(random, 0.2), SomeChance(random, 0.3)};
  plan.crash_chance = SomeChance(random, 0.05);
  plan.person_chance = SomeChance(random, 0.05);
  plan.machines = static_cast<int>(random.Below(6));
  // One kind of agent alone must do as well.
  if (plan.machines > 0 && random.Chance(0.3)) plan.agents = 0;
  // Played agents know nothing of memory.
  if (plan.agents == 0) {
    for (PlannedJob& job : plan.jobs) {
      if (!random.Chance(0.5)) continue;
      job.memory_bytes = 64 << 20;
      job.memory_max = job.memory_bytes << random.Below(5);
    }
  }
  plan.machine_faults = {SomeChance(random, 0.1), SomeChance(random, 0.3), SomeChance(random, 0.02),
                         SomeChance(random, 0.02)};
  return plan;
}

}  // namespace tidemill
