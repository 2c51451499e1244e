// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "model/chunk.h"
#include "model/exchange.h"
#include "model/job.h"
#include "model/lease.h"

// When an item is tried again, with how much, and who gets it: decided alike by every store.
namespace tidemill {

// Items that are due of a job that an exchange looks at, those due longest first: bounds what it
// locks, and is more than its agents take in most cases.
inline constexpr int kDueRows = 64;
// Items that are due of a runnable job that are counted: enough to size leases by.
inline constexpr int kDueSample = 2048;

// What a store keeps of an item that was tried before.
struct TryRow {
  ItemTry counts;
  std::int32_t chunk = 0;
  SessionId blamed = {};                    // under which it failed last; zero: none
  std::optional<std::int64_t> due_us = {};  // rests until then; nothing: does not rest
};

using TryRows = std::map<std::pair<JobId, std::int64_t>, TryRow>;
// The row of an item, made if there is none.
TryRow& TryIn(TryRows& rows, const Chunk& chunk, int offset);

// What a job allows its items.
struct RetryRules {
  std::int32_t retries = 0;
  Duration wait{};
  std::int64_t memory_bytes = 0;
  std::int64_t memory_max = 0;
};
RetryRules RulesOf(const JobSpec& spec);

// Each counts what became of one attempt under `lease`, and answers how long the item rests;
// nothing: it is not tried again.
std::optional<Duration> CountFailure(TryRow& row, const RetryRules& rules, const Lease& lease,
                                     bool final);
std::optional<Duration> CountOutOfMemory(TryRow& row, const RetryRules& rules, const Lease& lease);
// Whose failure a success under `lease` speaks against; zero: nobody's.
SessionId BlamedBy(const TryRow& row, const Lease& lease);

// An item that is due.
struct DueItem {
  std::int64_t item = 0;
  std::int32_t chunk = 0;
  std::int64_t memory_bytes = 0;
  bool suspect = false;
  SessionId blamed = {};
  Duration overdue{};  // how long it has been due
};

// Of the free items, those that an ask is for.
Bits FreeFor(const Chunk& chunk, WornItems worn);
// Which of them it gets; see PickItems.
Bits PickFree(const Chunk& chunk, const Ask& ask);
// Those that ask for suspects only are served before the others, which would take them too.
bool GoesFirst(const Ask& ask);

// The most that one of the agents could give an item.
std::int64_t LargestRoom(const std::vector<const Ask*>& asks);
// Which of `due`, those due longest first, a session gets for what it asks: of one chunk and one
// need of memory, a suspect alone. As indexes, ascending; none: nothing for it now.
std::vector<std::size_t> PickRetries(const std::vector<DueItem>& due, const Ask& ask,
                                     SessionId session);

}  // namespace tidemill
