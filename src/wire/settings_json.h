// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pool.h"
#include "model/queue.h"
#include "wire/access_json.h"
#include "wire/cost_json.h"

// Pools and queues, as the bodies of the calls about them and as a file that is applied. What is
// sent is read strictly; in answers unknown fields are passed over.
namespace tidemill {

// A pool as a file has it: of its policy only what is said.
struct PoolEntry {
  std::optional<ContainerPolicy> policy;  // nothing: it stays as it is
  PoolMachines machines;
};

// By name; each name is that of its queue too.
struct SettingsFile {
  std::map<std::string, PoolEntry> pools;
  std::map<std::string, Queue> queues;
};

// PUT /v1/pools/{pool}/machines
Result<PoolMachines> ParsePoolMachines(std::string_view body);
std::string FormatPoolMachines(const PoolMachines& machines);

// What is going on in pools, by name; of those that are not in it nothing is said.
using PoolsNow = std::map<std::string, PoolNow>;
std::string FormatPool(const PoolSettings& pool, const PoolsNow& now);
std::string FormatPools(const std::vector<PoolSettings>& pools, const PoolsNow& now, bool more);
// Their project is not in it.
Result<Page<PoolSettings>> ParsePools(std::string_view body);

// PUT /v1/queues/{queue}: all but its name, which is in the path.
Result<Queue> ParseQueueBody(std::string_view body, const std::string& name);
std::string FormatQueueBody(const Queue& queue);
std::string FormatQueue(const Queue& queue);
std::string FormatQueues(const std::vector<Queue>& queues, bool more);
Result<Page<Queue>> ParseQueues(std::string_view body);

// {"pools": {NAME: {...}}, "queues": {NAME: {...}}}; both may be absent.
Result<SettingsFile> ParseSettingsFile(std::string_view json);

// 340000 -> "0.34": dollars
std::string DollarsText(Money money);

}  // namespace tidemill
