// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

namespace tidemill {

// How much memory the items of a job have needed, as far as one server has heard: from it the job
// learns what later ones start with.
class MemoryTally {
 public:
  struct Settled {
    std::int64_t memory_bytes = 0;  // that each of them had
    bool tried = false;             // they had run before, and been seen then
    std::int64_t succeeded = 0;
    std::int64_t ran_out = 0;
  };
  void Add(const Settled& settled);

  // The smallest step from `now` up, never above `most`, that has been enough for all but 1 in 20
  // of the items that were seen.
  std::int64_t StartOf(std::int64_t now, std::int64_t most) const;

 private:
  std::int64_t seen_ = 0;                         // items, each once
  std::map<std::int64_t, std::int64_t> ran_out_;  // items, by what they had
};

}  // namespace tidemill
