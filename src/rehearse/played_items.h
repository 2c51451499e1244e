// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "rehearse/rehearsal.h"
#include "sim/item_play.h"

namespace tidemill {

// What the items of the job do. Loop thread only.
class PlayedItems : public ItemPlay {
 public:
  // `now` is the loop's clock.
  PlayedItems(const Rehearsal& rehearsal, std::function<TimePoint()> now);

  PlayedItem Begin(const std::string& machine, JobId job, std::int64_t item) override;

  // When all that has begun would be over, if nothing were taken away.
  TimePoint busy_until() const { return busy_until_; }
  // What the item takes of a machine of the pool where it ran last.
  Duration UseOf(std::int64_t item) const;

 private:
  std::uint8_t PoolOf(const std::string& machine) const;

  const Rehearsal& rehearsal_;
  const std::function<TimePoint()> now_;
  SeededRandom random_;
  TimePoint busy_until_{};
  std::vector<std::int64_t> slots_;   // of a machine, by pool
  std::vector<std::uint8_t> ran_in_;  // by item, which pool
};

// Items of the job that run side by side on a machine of this shape.
std::int64_t SlotsOf(const Resources& shape, const Resources& each);

}  // namespace tidemill
