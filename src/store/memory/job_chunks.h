// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "model/exchange.h"
#include "model/job.h"
#include "store/rows.h"

namespace tidemill {

// What a chunk has of each kind of item.
struct ChunkTally {
  explicit ChunkTally(const Chunk& chunk);
  std::int32_t In(ItemState state) const;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::int32_t leased = 0;
  std::int32_t waiting = 0;
  std::int32_t parked = 0;
  std::int32_t free = 0;         // of waiting
  std::int32_t free_worn = 0;    // of free: suspects
  std::int32_t leased_worn = 0;  // of leased: suspects
};

// The chunks of one job, and where in them something is: what is asked with every exchange is
// counted when a chunk changes, not when it is asked for. Its owner's lock guards it.
class JobChunks {
 public:
  using Numbers = std::set<std::int32_t>;

  struct Entry {
    StoredChunk stored;
    ChunkTally tally;
  };
  using Entries = std::map<std::int32_t, Entry>;

  // By number; those that are packed away are not in it.
  const Entries& all() const { return chunks_; }
  bool Has(std::int32_t number) const { return chunks_.contains(number); }
  const StoredChunk& at(std::int32_t number) const { return chunks_.at(number).stored; }
  // The one that has the item; null if it is packed away or there is none.
  const Chunk* FindItem(std::int64_t item) const;
  const ChunkTally& TallyOf(std::int32_t number) const { return chunks_.at(number).tally; }

  // With those that are packed away.
  const Counts& counts() const { return counts_; }
  const PackedItems& packed() const { return packed_; }
  std::int64_t leased_worn() const { return leased_worn_; }
  bool AllDone() const { return counts_.succeeded + counts_.failed == counts_.total; }
  // Chunks with something free.
  const Numbers& free() const { return free_; }
  // Of these, those with something for such an ask.
  const Numbers& FreeFor(WornItems worn) const;
  // Chunks with something free or resting.
  const Numbers& waiting() const { return waiting_; }

  // Items that are free in the first so many chunks with something free.
  std::int64_t FreeInFirst(int chunks) const;

  void Add(const Chunk& chunk);
  // The only way to change a chunk.
  void Change(std::int32_t number, const std::function<void(StoredChunk&)>& change);
  // Of one that is done: it is counted from now on, and not there any more.
  void Pack(std::int32_t number);

 private:
  void Count(const ChunkTally& tally, int sign);
  void List(std::int32_t number, const ChunkTally& tally);

  Entries chunks_;
  Counts counts_;  // the sums of their tallies, and what is packed away
  PackedItems packed_;
  std::int64_t leased_worn_ = 0;
  Numbers free_;
  Numbers free_worn_;   // with a free suspect
  Numbers free_sound_;  // with a free one that is none
  Numbers waiting_;
};

}  // namespace tidemill
