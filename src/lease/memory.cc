// SPDX-License-Identifier: Apache-2.0
#include "lease/memory.h"

#include <algorithm>

#include "model/retry.h"

namespace tidemill {
namespace {

constexpr std::int64_t kOneIn = 20;

}  // namespace

void MemoryTally::Add(const Settled& settled) {
  if (!settled.tried) seen_ += settled.succeeded + settled.ran_out;
  if (settled.ran_out > 0) ran_out_[settled.memory_bytes] += settled.ran_out;
}

// An item goes from step to step, and so has run out at each step below the one it needs.
std::int64_t MemoryTally::StartOf(std::int64_t now, std::int64_t most) const {
  for (const auto& [bytes, items] : ran_out_) {
    const bool too_many = items >= kEnoughRanOut && items * kOneIn > seen_;
    if (bytes >= now && too_many) now = std::max(now, std::min(NextMemory(bytes, most), most));
  }
  return now;
}

}  // namespace tidemill
