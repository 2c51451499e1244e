// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/loop.h"

// When and with how much an item is tried again. Pure functions, for all stores alike.
namespace tidemill {

inline constexpr Duration kLongestRetryWait = std::chrono::minutes(5);
// For this long after it is due a retry goes only to other machines than the one it failed on; then
// to any, because there may be no other.
inline constexpr Duration kPreferOthers = std::chrono::seconds(3);
// Retries of one chunk that one lease may hold.
inline constexpr int kRetriesPerLease = 16;

// Doubles with each attempt, up to the longest. Spread over the last half of that by the item's
// number, so that items that failed together do not come back together.
Duration RetryWait(Duration first, std::int32_t attempts, std::int64_t item);

// So many that ran out of memory are no outliers any more: what like them is to come would too.
inline constexpr int kEnoughRanOut = 3;

// Twice what it had, but not more than `most`. Nothing above what it had: it cannot have more.
std::int64_t NextMemory(std::int64_t had, std::int64_t most);

}  // namespace tidemill
