// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/claims.h"
#include "plan/index.h"

namespace tidemill {

enum class Limit : std::uint8_t { kNone, kMaxParallel, kBudget, kRunning, kMachines, kCost };

// What is left of the limits of queues and jobs while slots are given out.
class Caps {
 public:
  explicit Caps(const SnapshotIndex& index);

  // Counts what runs now, of all jobs.
  void AddRunning(const SnapshotIndex& index);

  // How many of `slots` more of a claim, in its n-th pool, all limits allow.
  std::int64_t Allow(const Claim& claim, std::size_t nth_pool, std::int64_t slots) const;
  // Which limit does not allow one more.
  Limit Reached(const Claim& claim, std::size_t nth_pool) const;
  void Add(std::size_t job, std::size_t queue, const SlotCost& cost, std::int64_t slots);

 private:
  struct QueueUse {
    std::int64_t machine_ppm = 0;
    std::int64_t cost_an_hour = 0;
    std::int64_t slots = 0;
  };
  struct JobUse {
    std::int64_t slots = 0;
    std::int64_t committed = 0;
  };

  std::int64_t Below(Limit limit, const Claim& claim, std::size_t nth_pool,
                     std::int64_t slots) const;

  const Snapshot& snapshot_;
  std::vector<QueueUse> queues_;
  std::vector<JobUse> jobs_;
};

}  // namespace tidemill
