// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/result.h"
#include "model/pool.h"

namespace tidemill {

// A pool whose machines are played.
struct PlayedPool {
  std::string name;
  PoolMachines machines;
  Duration boot = std::chrono::seconds(60);  // from the order to the agent's start
};

// "name=spot,cpus=4,memory=16GiB,max=2000,price=0.05,boot=60s,idle=1m,spot": what it does not say
// is as in a file that is applied, but for memory, which is 4 GiB a processor, and boot, which is
// `boot`. Name, cpus and max must be there. kInvalid for anything else.
Result<PlayedPool> ParsePlayedPool(std::string_view text, Duration boot = std::chrono::seconds(60));

}  // namespace tidemill
