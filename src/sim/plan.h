// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "load/script.h"
#include "model/price.h"
#include "server/deps.h"
#include "sim/faults.h"

namespace tidemill {

struct PlannedJob {
  std::vector<int> parts;  // how many items each has; a part is a chunk here
  int retries = 0;
  // What its items start with, and may be given; 0: nobody counts memory. How much an item needs
  // the seed says: some need more than there is.
  std::int64_t memory_bytes = 0;
  std::int64_t memory_max = 0;
  Duration begins{};
  std::int64_t item_ms = 1000;  // the longest; each takes a random part of it
  std::int64_t poison_ppm = 0;  // items that kill the machine that runs them
  int priority = 0;
  std::int64_t max_parallel = 0;  // 0: no limit
  Money budget;                   // 0: no limit
  bool stores = false;            // its items have outputs
  bool operator==(const PlannedJob&) const = default;
};

// Machines that the cloud makes, in the order in which the jobs' queue names their pools.
struct PlannedPool {
  std::int64_t max = 1;
  std::int64_t min = 0;
  std::int64_t millicpus = 1000;
  bool spot = true;
  Money price;  // an hour
  Duration idle = std::chrono::minutes(1);
  Duration boot = std::chrono::seconds(20);
  bool operator==(const PlannedPool&) const = default;
};

// What a plan's pool is called.
std::string PoolNameOf(std::size_t number);

// All that a run is made of: who takes part, what they do, and which faults there are. The run uses
// nothing but this and the random streams of its seed.
struct SimPlan {
  std::uint64_t seed = 0;
  int servers = 1;
  int agents = 1;    // that are played
  int machines = 0;  // with a real agent, and nobody who bills for them
  std::vector<PlannedPool> pools;
  std::vector<PlannedJob> jobs;
  Script script;  // of the agents, while there are faults
  ServerLimits limits;
  Faults faults;
  // How often agents look at what no event says.
  Duration agent_tick = std::chrono::seconds(1);
  Duration chaos{};  // how long there are faults
  std::string why;   // it is kept: for people, a run does not look at it
  bool operator==(const SimPlan&) const = default;
};

// What a seed stands for.
SimPlan DrawPlan(std::uint64_t seed);

}  // namespace tidemill
