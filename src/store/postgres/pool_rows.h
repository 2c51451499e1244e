// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/pool.h"
#include "model/queue.h"
#include "store/postgres/rows.h"

// Pools and queues as rows. Each list of columns stands beside the function that reads it.
namespace tidemill {

#define TIDEMILL_SETTINGS_COLUMNS                                                               \
  TIDEMILL_POOL_COLUMNS                                                                         \
  ", o.provider, o.shape_millicpus, o.shape_memory, o.shape_devices, o.spot, o.price,"          \
  " o.on_demand, o.size_min, o.size_max, o.size_unit, o.max_price, o.idle_us, o.boot_limit_us," \
  " o.billed_at_least_us, o.labels, o.steps, o.disabled, o.options"
PoolSettings ReadSettings(Row& row);

// A queue's pools as one text: a name has no spaces.
#define TIDEMILL_QUEUE_COLUMNS                                                          \
  "q.name, q.priority, q.share, q.machines_max, q.cost_max, q.running_max, q.disabled," \
  " coalesce((select string_agg(p.pool, ' ' order by p.place) from queue_pool p"        \
  " where p.project = q.project and p.queue = q.name), '')"
Queue ReadQueue(Row& row);

}  // namespace tidemill
