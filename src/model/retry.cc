// SPDX-License-Identifier: Apache-2.0
#include "model/retry.h"

#include <algorithm>

namespace tidemill {
namespace {

// Spreads neighbours far apart: a multiplication by the golden ratio of 2^64, and its high bits.
std::uint64_t Spread(std::int64_t item, std::int32_t attempts) {
  const auto mixed = static_cast<std::uint64_t>(item) * 31 + static_cast<std::uint64_t>(attempts);
  return (mixed * 0x9e3779b97f4a7c15U) >> 32U;
}

}  // namespace

Duration RetryWait(Duration first, std::int32_t attempts, std::int64_t item) {
  if (first <= Duration::zero()) return Duration::zero();
  Duration wait = std::min(first, kLongestRetryWait);
  for (std::int32_t i = 1; i < attempts && wait < kLongestRetryWait; ++i) wait *= 2;
  wait = std::min(wait, kLongestRetryWait);
  const Duration half = wait / 2;
  const auto part = static_cast<std::int64_t>(Spread(item, attempts) %
                                              static_cast<std::uint64_t>(half.count() + 1));
  return wait - half + Duration(part);
}

std::int64_t NextMemory(std::int64_t had, std::int64_t most) {
  if (had >= most) return had;
  return had > most - had ? most : 2 * had;
}

}  // namespace tidemill
