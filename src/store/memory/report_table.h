// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "store/memory/touched.h"
#include "store/rows.h"

namespace tidemill {

// Reports that are not rolled up yet, chunk by chunk. Its owner's lock guards it.
class ReportTable {
 public:
  struct Key {
    ChunkKey chunk;
    LeaseId lease;
    std::int32_t seq = 0;
    auto operator<=>(const Key&) const = default;
  };

  explicit ReportTable(TouchedChunks& touched) : touched_(touched) {}

  const std::map<Key, Report>& all() const { return reports_; }
  bool Has(const Lease& lease, std::int32_t seq) const;
  // By lease and seq.
  std::vector<Report> Of(ChunkKey chunk, Bodies bodies) const;
  // By chunk, lease and seq, descending, until `see` answers false.
  void EachOfJob(JobId job, const std::function<bool(const Report&)>& see) const;

  void Add(const Report& report);
  // The present outcome of these items is in none of them any more.
  void Reopen(ChunkKey chunk, const Bits& items);
  // Those of a chunk, which are gone by this.
  std::vector<Report> Take(ChunkKey chunk);

 private:
  TouchedChunks& touched_;
  std::map<Key, Report> reports_;
};

// What the reports of chunks added up to, and which of that is not in the ledger yet. Its owner's
// lock guards it.
class StatTable {
 public:
  using Key = std::pair<ChunkKey, std::int32_t>;  // and its round

  explicit StatTable(TouchedChunks& touched) : touched_(touched) {}

  const std::map<Key, ChunkStat>& all() const { return stats_; }
  // By round.
  std::vector<ChunkStat> Of(ChunkKey chunk, Bodies bodies) const;
  // Of the chunks from number `from` on.
  std::vector<ChunkStat> OfJob(JobId job, std::int32_t from, int limit) const;

  void Put(ChunkStat stat);
  void Reopen(ChunkKey chunk, const Bits& items);

  std::vector<ChunkStat> NotInLedger(int limit) const;
  bool IsInLedger(JobId job) const;
  bool IsInLedger(ChunkKey chunk) const;
  // If it is still as it was written there.
  void MarkInLedger(const ChunkStat& stat);
  // Of a chunk that is packed away.
  void Drop(ChunkKey chunk);

 private:
  TouchedChunks& touched_;
  std::map<Key, ChunkStat> stats_;
  std::set<Key> not_in_ledger_;
};

}  // namespace tidemill
