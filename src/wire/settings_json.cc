// SPDX-License-Identifier: Apache-2.0
#include "wire/settings_json.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "wire/page_json.h"
#include "wire/policy_json.h"
#include "wire/pool_machines.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;
using json::Wrong;

constexpr std::int64_t kMostPriority = 1'000'000;
constexpr std::int64_t kMostShare = 1'000'000;
// Each is looked at for each job each second.
constexpr std::size_t kPoolsPerQueue = 64;
// As many as one list of the server has.
constexpr std::size_t kEntries = limits::kPageRows;

Result<std::optional<std::int64_t>> ReadLimit(const Fields& fields, std::string_view name,
                                              std::int64_t most) {
  if (fields.Find(name) == nullptr) return std::nullopt;
  TIDEMILL_TRY(const std::int64_t limit, fields.Int(name, {.most = most}));
  return limit;
}

Result<QueueLimits> ReadQueueLimits(const Fields& queue) {
  QueueLimits limits;
  const Value* value = queue.Find("limits");
  if (value == nullptr) return limits;
  const Path path = queue.In("limits");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY_VOID(fields.Only({"machines", "cost_an_hour", "running"}));
  TIDEMILL_TRY(limits.machines, ReadLimit(fields, "machines", json::kMostMachines));
  if (const Value* cost = fields.Find("cost_an_hour")) {
    TIDEMILL_TRY(limits.cost_an_hour, json::MoneyOf(*cost, fields.In("cost_an_hour")));
  }
  TIDEMILL_TRY(limits.running, ReadLimit(fields, "running", json::kMostItems));
  return limits;
}

Result<std::vector<std::string>> ReadPoolNames(const Fields& queue) {
  std::vector<std::string> pools;
  TIDEMILL_TRY(const Value* array, queue.Array("pools", kPoolsPerQueue));
  if (array == nullptr) return pools;
  const Path in_array = queue.In("pools");
  for (const Value& element : *array) {
    const Path path{&in_array, {}, pools.size()};
    if (!element.is_string()) return Wrong(path, "must be the name of a pool");
    const std::string& name = element.get_ref<const std::string&>();
    if (!IsName(name) || name.size() > limits::kNameBytes) {
      return Wrong(path, "must be the name of a pool");
    }
    if (std::find(pools.begin(), pools.end(), name) != pools.end()) {
      return Wrong(path, "pool '" + name + "' is named before; name it once");
    }
    pools.push_back(name);
  }
  return pools;
}

// What a queue has beside its name.
Result<Queue> ReadQueue(const Fields& fields, const std::string& name) {
  Queue queue;
  queue.name = name;
  TIDEMILL_TRY(
      const std::int64_t priority,
      fields.Int("priority", {.least = -kMostPriority, .most = kMostPriority, .absent = 0}));
  queue.priority = static_cast<std::int32_t>(priority);
  TIDEMILL_TRY(const std::int64_t share, fields.Int("share", {.most = kMostShare, .absent = 1}));
  queue.share = static_cast<std::int32_t>(share);
  TIDEMILL_TRY(queue.pools, ReadPoolNames(fields));
  TIDEMILL_TRY(queue.limits, ReadQueueLimits(fields));
  TIDEMILL_TRY(queue.disabled, fields.Flag("disabled", false));
  return queue;
}

Result<Queue> ReadNewQueue(const Fields& fields, const std::string& name) {
  TIDEMILL_TRY_VOID(fields.Only({"priority", "share", "pools", "limits", "disabled"}));
  return ReadQueue(fields, name);
}

void AppendQueue(std::string& out, const Queue& queue) {
  json::AppendNumber(out, "priority", queue.priority);
  json::AppendNumber(out, "share", queue.share);
  std::string pools = "[";
  for (const std::string& pool : queue.pools) {
    pools.append(pools.size() > 1 ? "," : "").append(json::Quoted(pool));
  }
  json::AppendValue(out, "pools", pools + "]");
  std::string limits = "{";
  if (queue.limits.machines) json::AppendNumber(limits, "machines", *queue.limits.machines);
  if (queue.limits.cost_an_hour) {
    json::AppendValue(limits, "cost_an_hour", DollarsText(*queue.limits.cost_an_hour));
  }
  if (queue.limits.running) json::AppendNumber(limits, "running", *queue.limits.running);
  json::AppendValue(out, "limits", limits + "}");
  json::AppendFlag(out, "disabled", queue.disabled);
}

// The entries of an object, whose names are those of pools or queues.
template <typename Read>
Result<void> ReadEntries(const Fields& file, std::string_view field, Read read) {
  const Value* value = file.Find(field);
  if (value == nullptr || value->is_null()) return {};
  const Path in_field = file.In(field);
  TIDEMILL_TRY_VOID(Fields::Of(*value, in_field));
  if (value->size() > kEntries) return Wrong(in_field, "has more than 1000 names");
  for (const auto& entry : value->items()) {
    const std::string& name = entry.key();
    if (!IsName(name) || name.size() > limits::kNameBytes) {
      return Wrong(in_field, json::Quoted(name.substr(0, limits::kNameBytes)) +
                                 " is no name here; they are letters, digits, '.', '_' and '-'");
    }
    const Path path{&in_field, name, 0};
    // `default:` with nothing behind it is one with nothing set.
    const Value nothing = Value::object();
    TIDEMILL_TRY(const Fields fields,
                 Fields::Of(entry.value().is_null() ? nothing : entry.value(), path));
    TIDEMILL_TRY_VOID(read(name, fields));
  }
  return {};
}

}  // namespace

std::string DollarsText(Money money) {
  constexpr std::int64_t kDollar = 1'000'000;
  std::string out = std::to_string(money.micros / kDollar);
  if (money.micros % kDollar == 0) return out;
  std::string fraction = std::to_string(kDollar + money.micros % kDollar).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return out.append(".").append(fraction);
}

// --- pools ---

Result<PoolMachines> ParsePoolMachines(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"provider", "shape", "spot", "price", "on_demand", "min", "max",
                                 "unit", "max_price", "idle", "boot_limit", "billed_at_least",
                                 "labels", "steps", "disabled", "options"}));
  return json::ReadMachines(fields);
}

std::string FormatPoolMachines(const PoolMachines& machines) {
  return json::MachinesText(machines);
}

std::string FormatPool(const PoolSettings& pool, const PoolsNow& now) {
  std::string out = "{";
  json::AppendText(out, "name", pool.pool.name);
  json::AppendValue(out, "policy", json::PolicyText(pool.pool.policy));
  json::AppendValue(out, "machines", FormatPoolMachines(pool.machines));
  if (const auto known = now.find(pool.pool.name); known != now.end()) {
    json::AppendValue(out, "now", FormatPoolNow(known->second));
  }
  return out + "}";
}

std::string FormatPools(const std::vector<PoolSettings>& pools, const PoolsNow& now, bool more) {
  const std::string next = more && !pools.empty() ? pools.back().pool.name : "";
  return json::FormatPage("pools", pools, next,
                          [&now](const PoolSettings& pool) { return FormatPool(pool, now); });
}

Result<Page<PoolSettings>> ParsePools(std::string_view body) {
  return json::ParsePage<PoolSettings>(
      body, "pools", [](const Fields& fields) -> Result<PoolSettings> {
        PoolSettings pool;
        TIDEMILL_TRY(pool.pool.name, json::ReadNoun(fields, "name"));
        TIDEMILL_TRY(pool.pool.policy, json::ReadPolicy(fields, "policy"));
        const Value* machines = fields.Find("machines");
        if (machines == nullptr) return pool;
        const Path path = fields.In("machines");
        TIDEMILL_TRY(const Fields inner, Fields::Of(*machines, path));
        TIDEMILL_TRY(pool.machines, json::ReadMachines(inner));
        return pool;
      });
}

// --- queues ---

Result<Queue> ParseQueueBody(std::string_view body, const std::string& name) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return ReadNewQueue(fields, name);
}

std::string FormatQueueBody(const Queue& queue) {
  std::string out = "{";
  AppendQueue(out, queue);
  return out + "}";
}

std::string FormatQueue(const Queue& queue) {
  std::string out = "{";
  json::AppendText(out, "name", queue.name);
  AppendQueue(out, queue);
  return out + "}";
}

std::string FormatQueues(const std::vector<Queue>& queues, bool more) {
  const std::string next = more && !queues.empty() ? queues.back().name : "";
  return json::FormatPage("queues", queues, next, FormatQueue);
}

Result<Page<Queue>> ParseQueues(std::string_view body) {
  return json::ParsePage<Queue>(body, "queues", [](const Fields& fields) -> Result<Queue> {
    TIDEMILL_TRY(const std::string name, json::ReadNoun(fields, "name"));
    return ReadQueue(fields, name);
  });
}

// --- the file ---

Result<SettingsFile> ParseSettingsFile(std::string_view json) {
  TIDEMILL_TRY(const Value value, json::Parse(json));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"pools", "queues"}));
  SettingsFile file;
  const auto add_pool = [&](const std::string& name, const Fields& pool) -> Result<void> {
    TIDEMILL_TRY_VOID(pool.Only({"policy", "provider", "shape", "spot", "price", "on_demand", "min",
                                 "max", "unit", "max_price", "idle", "boot_limit",
                                 "billed_at_least", "labels", "steps", "disabled", "options"}));
    PoolEntry entry;
    if (pool.Find("policy") != nullptr) {
      TIDEMILL_TRY(entry.policy, json::ReadPolicy(pool, "policy"));
    }
    TIDEMILL_TRY(entry.machines, json::ReadMachines(pool));
    file.pools[name] = std::move(entry);
    return {};
  };
  const auto add_queue = [&](const std::string& name, const Fields& queue) -> Result<void> {
    TIDEMILL_TRY(file.queues[name], ReadNewQueue(queue, name));
    return {};
  };
  TIDEMILL_TRY_VOID(ReadEntries(fields, "pools", add_pool));
  TIDEMILL_TRY_VOID(ReadEntries(fields, "queues", add_queue));
  return file;
}

}  // namespace tidemill
