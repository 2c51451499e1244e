// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/console.h"
#include "wire/submit_json.h"

namespace tidemill::cli {

struct SimulateFlags {
  std::string spec;        // a file, or "-"; empty: that of `like`
  std::string like;        // a finished job, whose items are played again; empty: none
  std::int64_t items = 0;  // 0: as many as `like` has
  std::string duration;    // as DurationSpread has it; empty: as `like` was measured
  // Names of the server's pools, or what ParsePlayedPool takes; none: all of the server's.
  std::vector<std::string> pools;
  std::string boot = "60s";   // of pools that do not say it
  std::string interruptions;  // "5%/h"; empty: none
  std::string spot_trace;     // a file; empty: none
  std::string notice = "2m";  // of machines that are taken away
  double failing = -1;        // percent of attempts that fail; below zero: as `like` did, or none
  std::int64_t seed = 1;
  std::int64_t seeds = 3;
  WishEdits wishes;
};

// Whether a server must be asked.
bool AsksServer(const SimulateFlags& flags);
// What was said in no way; empty: nothing.
std::string MissingOf(const SimulateFlags& flags);

// tidemill simulate. `client` is null if AsksServer is false.
int Simulate(const Console& console, const Surroundings& around, Client* client,
             const SimulateFlags& flags);

}  // namespace tidemill::cli
