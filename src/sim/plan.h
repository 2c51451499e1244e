// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/script.h"
#include "server/deps.h"
#include "sim/faulty_store.h"
#include "sim/machine.h"
#include "sim/network.h"

namespace tidemill {

struct PlannedJob {
  std::vector<int> parts;  // how many items each has; a part is a chunk here
  int retries = 0;
  // What its items start with, and may be given; 0: nobody counts memory. How much an item needs
  // the seed says: some need more than there is.
  std::int64_t memory_bytes = 0;
  std::int64_t memory_max = 0;
  Duration begins{};
};

// All that a run is made of, drawn from its seed: who takes part, what they do, and which faults
// are on.
struct SimPlan {
  std::uint64_t seed = 0;
  int servers = 1;
  int agents = 1;    // that are played
  int machines = 0;  // with a real agent
  std::vector<PlannedJob> jobs;
  Script script;  // of the agents, while there are faults
  ServerLimits limits;
  StoreFaults store_faults;
  NetworkFaults network_faults;
  MachineFaults machine_faults;
  double crash_chance = 0;   // of a server, each second
  double person_chance = 0;  // of a pause, resume, cancel or retry of some job, each second
  Duration chaos{};          // how long there are faults
};

SimPlan DrawPlan(std::uint64_t seed);

}  // namespace tidemill
