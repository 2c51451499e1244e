// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/pool.h"
#include "model/queue.h"

// Queues, and the pools that they use.
namespace tidemill::cli {

std::string QueuesText(const std::vector<Queue>& queues, std::size_t width, bool colours);
std::string MachinesText(const std::vector<PoolSettings>& pools, std::size_t width, bool colours);

// tidemill queues, pools
int ListQueues(const Context& context);
int ListMachinesOfPools(const Context& context);

}  // namespace tidemill::cli
