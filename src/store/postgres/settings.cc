// SPDX-License-Identifier: Apache-2.0
// What operators set: the machines of pools, and queues.
#include <algorithm>
#include <optional>
#include <set>

#include "store/postgres/pool_rows.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/rules.h"
#include "store/settings_rules.h"

namespace tidemill {
namespace {

std::vector<std::string> SplitNames(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : " ").append(name);
  return text;
}

const Statement kSetMachines{
    "set_machines",
    "update pool o set provider = $3, shape_millicpus = $4, shape_memory = $5, shape_devices = $6,"
    " spot = $7, price = $8, on_demand = $9, size_min = $10, size_max = $11, size_unit = $12,"
    " max_price = $13, idle_us = $14, boot_limit_us = $15, labels = $16, steps = $17,"
    " disabled = $18, options = $19, billed_at_least_us = $20 where o.project = $1 and o.name = $2"
    " returning " TIDEMILL_SETTINGS_COLUMNS};
const Statement kFindSettings{"find_settings", "select " TIDEMILL_SETTINGS_COLUMNS
                                               " from pool o where o.project = $1 and o.name = $2"};
const Statement kListSettings{"list_settings", "select " TIDEMILL_SETTINGS_COLUMNS
                                               " from pool o where o.project = $1 and"
                                               " o.name > $2 collate \"C\""
                                               " order by o.name collate \"C\" limit $3"};
// Whoever is about to name it in a queue holds it for key share until that is there to be seen.
const Statement kLockPool{"lock_pool",
                          "select name from pool where project = $1 and name = $2 for update"};
const Statement kQueueOfPool{"queue_of_pool",
                             "select queue from queue_pool where project = $1 and pool = $2"
                             " order by queue collate \"C\" limit 1"};
const Statement kSessionOfPool{"session_of_pool",
                               "select machine from agent_session"
                               " where project = $1 and pool = $2 and state < 2 limit 1"};
const Statement kMachineOfPool{"machine_of_pool",
                               "select name from machine where project = $1 and pool = $2"
                               " and state < 4 limit 1"};
const Statement kTokenOfPool{"token_of_pool",
                             "select name from token where kind = 1 and project = $1 and pool = $2"
                             " and revoked_at is null and expires_at > clock_timestamp()"
                             " and made_by <> $3 limit 1"};
// Those of machines that were ordered, which are gone.
const Statement kEndTokensOfPool{"end_tokens_of_pool",
                                 "update token set revoked_at = clock_timestamp() where kind = 1"
                                 " and project = $1 and pool = $2 and revoked_at is null"};
const Statement kDropPool{"drop_pool", "delete from pool where project = $1 and name = $2"};

const Statement kLockPoolsOfQueue{
    "lock_pools_of_queue",
    "select name from pool where project = $1 and name = any (string_to_array($2, ' '))"
    " order by name for key share"};
const Statement kHasProject{"has_project", "select name from project where name = $1"};
const Statement kCountQueues{"count_queues",
                             "select count(*) from queue where project = $1 and name <> $2"};
const Statement kPutQueue{
    "put_queue",
    "insert into queue (project, name, priority, share, machines_max, cost_max, running_max,"
    " disabled) values ($1, $2, $3, $4, $5, $6, $7, $8)"
    " on conflict (project, name) do update set priority = $3, share = $4, machines_max = $5,"
    " cost_max = $6, running_max = $7, disabled = $8"};
const Statement kDropPlaces{"drop_places",
                            "delete from queue_pool where project = $1 and queue = $2"};
const Statement kAddPlaces{
    "add_places",
    "insert into queue_pool (project, queue, place, pool) select $1, $2, place, pool"
    " from unnest(string_to_array($3, ' ')) with ordinality n (pool, place)"};
const Statement kFindQueue{"find_queue", "select " TIDEMILL_QUEUE_COLUMNS
                                         " from queue q where q.project = $1 and q.name = $2"};
const Statement kListQueues{"list_queues", "select " TIDEMILL_QUEUE_COLUMNS
                                           " from queue q where q.project = $1 and"
                                           " q.name > $2 collate \"C\""
                                           " order by q.name collate \"C\" limit $3"};
const Statement kDropQueue{"drop_queue", "delete from queue where project = $1 and name = $2"};

Params MachineParams(const std::string& project, const std::string& pool,
                     const PoolMachines& machines) {
  Params params;
  params.Text(project)
      .Text(pool)
      .Text(machines.provider)
      .Big(machines.shape.millicpus)
      .Big(machines.shape.memory_bytes)
      .Text(FormatDevices(machines.shape.devices))
      .Flag(machines.spot)
      .Big(machines.price.micros)
      .Big(machines.on_demand.micros)
      .Big(machines.min)
      .Big(machines.max)
      .Int(static_cast<std::int32_t>(machines.unit))
      .Int(machines.max_price.value_or(-1))
      .Big(machines.idle.count())
      .Big(machines.boot_limit.count())
      .Text(FormatLabels(machines.labels))
      .Text(FormatSteps(machines.steps))
      .Flag(machines.disabled)
      .Text(machines.options)
      .Big(machines.billed_at_least.count());
  return params;
}

Params QueueParams(const std::string& project, const Queue& queue) {
  const QueueLimits& limits = queue.limits;
  Params params;
  params.Text(project)
      .Text(queue.name)
      .Int(queue.priority)
      .Int(queue.share)
      .Big(limits.machines.value_or(-1))
      .Big(limits.cost_an_hour.value_or(Money{-1}).micros)
      .Big(limits.running.value_or(-1))
      .Flag(queue.disabled);
  return params;
}

// A pool that the queue names and that is not among those that were found.
std::optional<std::string> MissingPool(const Queue& queue, const Rows& found) {
  std::set<std::string> names;
  for (int i = 0; i < found.size(); ++i) names.insert(found[i].Text());
  for (const std::string& pool : queue.pools) {
    if (!names.contains(pool)) return pool;
  }
  return std::nullopt;
}

}  // namespace

PoolSettings ReadSettings(Row& row) {
  PoolSettings settings;
  settings.pool = ReadPool(row);
  PoolMachines& machines = settings.machines;
  machines.provider = row.Text();
  machines.shape.millicpus = row.Big();
  machines.shape.memory_bytes = row.Big();
  machines.shape.devices = ParseDevices(row.Text()).value_or(Devices{});
  machines.spot = row.Flag();
  machines.price = {row.Big()};
  machines.on_demand = {row.Big()};
  machines.min = row.Big();
  machines.max = row.Big();
  machines.unit = static_cast<SizeUnit>(row.Int());
  if (const std::int32_t percent = row.Int(); percent >= 0) machines.max_price = percent;
  machines.idle = Duration(row.Big());
  machines.boot_limit = Duration(row.Big());
  machines.billed_at_least = Duration(row.Big());
  machines.labels = ParseLabels(row.Text());
  machines.steps = ParseSteps(row.Text());
  machines.disabled = row.Flag();
  machines.options = row.Text();
  return settings;
}

Queue ReadQueue(Row& row) {
  Queue queue;
  queue.name = row.Text();
  queue.priority = row.Int();
  queue.share = row.Int();
  if (const std::int64_t most = row.Big(); most >= 0) queue.limits.machines = most;
  if (const std::int64_t most = row.Big(); most >= 0) queue.limits.cost_an_hour = Money{most};
  if (const std::int64_t most = row.Big(); most >= 0) queue.limits.running = most;
  queue.disabled = row.Flag();
  queue.pools = SplitNames(row.Text());
  return queue;
}

// --- pools ---

Result<PoolSettings> PostgresStore::SetMachines(const std::string& project, const std::string& pool,
                                                const PoolMachines& machines) {
  TIDEMILL_TRY(const Rows rows, Query(kSetMachines, MachineParams(project, pool, machines)));
  if (rows.empty()) return NoSuchPool(pool);
  return ReadFirst(rows, ReadSettings);
}

Result<PoolSettings> PostgresStore::FindPoolSettings(const std::string& project,
                                                     const std::string& pool) {
  TIDEMILL_TRY(const Rows rows, Query(kFindSettings, Params().Text(project).Text(pool)));
  if (rows.empty()) return NoSuchPool(pool);
  return ReadFirst(rows, ReadSettings);
}

Result<std::vector<PoolSettings>> PostgresStore::ListPoolSettings(const std::string& project,
                                                                  const std::string& after,
                                                                  int limit) {
  TIDEMILL_TRY(const Rows rows,
               Query(kListSettings, Params().Text(project).Text(after).Int(limit)));
  return ReadAll(rows, ReadSettings);
}

Result<void> PostgresStore::DropPool(const std::string& project, const std::string& pool) {
  return Transact<void>([&](Transaction& transaction) -> Result<void> {
    const Params its = Params().Text(project).Text(pool);
    TIDEMILL_TRY(const Rows locked, transaction.One(kLockPool, its));
    if (locked.empty()) return NoSuchPool(pool);
    if (pool == kDefaultPool) return IsDefaultPool();
    transaction.Send(kQueueOfPool, its);
    transaction.Send(kSessionOfPool, its);
    transaction.Send(kTokenOfPool, Params(its).Text(kAutoscaler));
    transaction.Send(kMachineOfPool, its);
    TIDEMILL_TRY(const std::vector<Rows> holds, transaction.Flush());
    if (!holds[0].empty()) return PoolOfQueue(pool, holds[0][0].Text());
    if (!holds[1].empty() || !holds[3].empty()) return PoolHasMachines(pool);
    if (!holds[2].empty()) return PoolHasTokens(pool);
    transaction.Tell(kEndTokensOfPool, its);
    transaction.Send(kDropPool, its);
    TIDEMILL_TRY_VOID(transaction.Commit());
    return {};
  });
}

// --- queues ---

// Two new ones at the same moment may pass the limit by one, which harms nobody.
Result<Queue> PostgresStore::PutQueue(const std::string& project, const Queue& queue) {
  return Transact<Queue>([&](Transaction& transaction) -> Result<Queue> {
    const std::string pools = JoinNames(queue.pools);
    transaction.Send(kHasProject, Params().Text(project));
    transaction.Send(kCountQueues, Params().Text(project).Text(queue.name));
    transaction.Send(kLockPoolsOfQueue, Params().Text(project).Text(pools));
    TIDEMILL_TRY(const std::vector<Rows> seen, transaction.Flush());
    if (seen[0].empty()) return NoSuchProject(project);
    if (const auto pool = MissingPool(queue, seen[2])) return NoPoolForQueue(queue.name, *pool);
    if (seen[1][0].Big() >= kQueuesPerProject) return TooManyQueues();
    transaction.Send(kPutQueue, QueueParams(project, queue));
    transaction.Send(kDropPlaces, Params().Text(project).Text(queue.name));
    transaction.Send(kAddPlaces, Params().Text(project).Text(queue.name).Text(pools));
    TIDEMILL_TRY_VOID(transaction.Commit());
    return queue;
  });
}

Result<Queue> PostgresStore::FindQueue(const std::string& project, const std::string& name) {
  TIDEMILL_TRY(const Rows rows, Query(kFindQueue, Params().Text(project).Text(name)));
  if (rows.empty()) return NoSuchQueue(name);
  return ReadFirst(rows, ReadQueue);
}

Result<std::vector<Queue>> PostgresStore::ListQueues(const std::string& project,
                                                     const std::string& after, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListQueues, Params().Text(project).Text(after).Int(limit)));
  return ReadAll(rows, ReadQueue);
}

Result<void> PostgresStore::DropQueue(const std::string& project, const std::string& name) {
  TIDEMILL_TRY(const Rows rows, Query(kDropQueue, Params().Text(project).Text(name)));
  if (rows.touched() == 0) return NoSuchQueue(name);
  return {};
}

}  // namespace tidemill
