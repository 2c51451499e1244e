// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "store/memory/touched.h"
#include "store/retries.h"
#include "store/rows.h"

namespace tidemill {

// What is kept of items that were tried before, and which of them rest until when. Its owner's lock
// guards it.
class TryTable {
 public:
  // When it is due, and the item: those due longest first.
  using Rests = std::set<std::pair<std::int64_t, std::int64_t>>;

  explicit TryTable(TouchedChunks& touched) : touched_(touched) {}

  const TryRows& all() const { return rows_; }
  const TryRow* Find(JobId job, std::int64_t item) const;
  const Rests& RestsOf(JobId job) const;
  // By item.
  std::vector<Rest> RestsIn(const Chunk& chunk) const;

  // What is kept of an item, from now on if there was nothing. When it is due is not to be changed
  // by this, but by the next two.
  TryRow& Of(const Chunk& chunk, int offset) { return TryIn(rows_, chunk, offset); }
  void SetDue(const Chunk& chunk, int offset, std::int64_t due_us);
  void SetNotDue(const Chunk& chunk, int offset);
  void Drop(const Chunk& chunk, int offset);

 private:
  void Forget(JobId job, const TryRow& row);

  TouchedChunks& touched_;
  TryRows rows_;
  std::map<JobId, Rests> rests_;
};

}  // namespace tidemill
