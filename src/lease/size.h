// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace tidemill {

// What the size of a lease depends on.
struct LeaseNeed {
  std::int64_t slots = 0;         // items of the job that the agent can run side by side now
  std::optional<double> item_ms;  // how long an item takes, if that is known
  std::int64_t free_items = 0;    // of the job
  std::int64_t agents = 1;        // that may want some of them
};

// About 15 seconds of work: long enough that a lease costs little, short enough that little is lost
// with a machine. One item a slot until durations are known. Toward the end of a job no more than
// the agent's share of what is free, so that all machines finish together.
int LeaseItems(const LeaseNeed& need);

// How long the items of a job take: the newer the item, the more it counts.
class ItemTime {
 public:
  void Add(std::int64_t items, std::int64_t run_ms);
  std::optional<double> Mean() const { return mean_ms_; }

 private:
  std::optional<double> mean_ms_;
};

}  // namespace tidemill
