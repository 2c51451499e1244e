// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/pool.h"
#include "model/queue.h"
#include "wire/settings_json.h"

// Queues, and the pools that they use.
namespace tidemill::cli {

std::string QueuesText(const std::vector<Queue>& queues, std::size_t width, bool colours);
// Below the table, why pools get no machines, or fewer than are wanted.
std::string MachinesText(const std::vector<PoolSettings>& pools, const PoolsNow& now,
                         std::int64_t now_ms, std::size_t width, bool colours);

// tidemill queues, pools
int ListQueues(const Context& context);
int ListMachinesOfPools(const Context& context);
// tidemill pools forgive
int ForgivePool(const Context& context, const std::string& pool);

}  // namespace tidemill::cli
