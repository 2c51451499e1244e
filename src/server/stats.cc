// SPDX-License-Identifier: Apache-2.0
#include "server/stats.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "report/roll_up.h"
#include "server/outcomes.h"

namespace tidemill {
namespace {

constexpr int kStatsAtOnce = 256;
// Reports that are read for chunks under way: some 10,000 attempts, in some milliseconds.
constexpr int kOpenReports = 256;

// The reports of one chunk that are not rolled up.
struct OpenChunk {
  std::int64_t first_item = 0;
  std::int32_t round = 0;
  std::vector<Report> reports;
};
using OpenChunks = std::map<std::int32_t, OpenChunk>;

OpenChunks ByChunk(std::vector<OpenReport> reports) {
  OpenChunks chunks;
  for (OpenReport& open : reports) {
    OpenChunk& chunk = chunks[open.report.chunk.chunk];
    chunk.first_item = open.first_item;
    chunk.round = open.chunk_round;
    chunk.reports.push_back(std::move(open.report));
  }
  return chunks;
}

// Drops from `open` what was rolled up after it was read.
Result<Summary> AddUpRolled(Store& store, JobId id, OpenChunks& open) {
  Summary sum;
  std::int32_t from = 0;
  while (true) {
    TIDEMILL_TRY(const std::vector<ChunkStat> stats, store.ListStats(id, from, kStatsAtOnce));
    // A chunk with several rounds must not be torn: its last rows come with the next look.
    const bool last = static_cast<int>(stats.size()) < kStatsAtOnce;
    const std::int32_t end = last ? INT32_MAX : stats.back().chunk.chunk;
    for (const ChunkStat& stat : stats) {
      if (stat.chunk.chunk >= end) break;
      TIDEMILL_TRY(const Summary summary, Summary::Decode(stat.summary));
      sum.Merge(summary);
      const auto found = open.find(stat.chunk.chunk);
      if (found != open.end() && stat.round >= found->second.round) open.erase(found);
    }
    if (last) return sum;
    if (end == from) return Fail(Code::kInternal, "a chunk was reopened too often to add up");
    from = end;
  }
}

}  // namespace

// Reports first: what is rolled up between the two looks is found by the second one.
Result<JobStats> AddUpStats(Store& store, JobId id) {
  TIDEMILL_TRY_VOID(store.FindJob(id));
  TIDEMILL_TRY(OpenReports reports, store.ListOpenReports(id, kOpenReports));
  OpenChunks open = ByChunk(std::move(reports.reports));
  JobStats stats;
  stats.partial = reports.more;
  TIDEMILL_TRY(stats.summary, AddUpRolled(store, id, open));
  for (const auto& [number, chunk] : open) {
    stats.summary.Merge(ReadReports(chunk.first_item, ToRoll(chunk.reports)).AddUp());
  }
  return stats;
}

}  // namespace tidemill
