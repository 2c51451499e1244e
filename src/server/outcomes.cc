// SPDX-License-Identifier: Apache-2.0
#include "server/outcomes.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "report/block.h"

namespace tidemill {

std::vector<ReportToRoll> ToRoll(const std::vector<Report>& reports) {
  std::vector<ReportToRoll> to_roll;
  to_roll.reserve(reports.size());
  for (const Report& report : reports) {
    to_roll.push_back({.body = report.body,
                       .settled = report.settled,
                       .ended = report.ended,
                       .lost_limit = report.kind == ReportKind::kLostLimit,
                       .round = report.round});
  }
  return to_roll;
}

std::vector<BelievedRows::Row> RowsOf(const ChunkHistory& history) {
  std::vector<BelievedRows::Row> rows =
      ReadReports(history.first_item, ToRoll(history.reports)).rows;
  for (const ChunkStat& stat : history.stats) {
    auto block = DecodeBlock(stat.block);
    if (!block) continue;
    for (std::size_t i = 0; i < block->size(); ++i) {
      Outcome& row = (*block)[i];
      // A block is in order, and of an item whose last word is in it that is the last row.
      const bool newest = i + 1 == block->size() || (*block)[i + 1].item != row.item;
      const std::int64_t offset = row.item - history.first_item;
      const bool ended = newest && offset >= 0 && offset < stat.ended.length() &&
                         stat.ended.Get(static_cast<int>(offset));
      rows.push_back({std::move(row), ended});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    const auto age = [](const Outcome& o) { return std::tie(o.item, o.round, o.attempt); };
    return age(a.outcome) < age(b.outcome);
  });
  return rows;
}

ChunkOutcomes::ChunkOutcomes(const ChunkHistory& history) {
  for (const ChunkStat& stat : history.stats) {
    auto rows = DecodeBlock(stat.block);
    if (!rows) continue;
    for (Outcome& row : *rows) Add(std::move(row));
  }
  BelievedRows read = ReadReports(history.first_item, ToRoll(history.reports));
  for (BelievedRows::Row& row : read.rows) Add(std::move(row.outcome));
}

void ChunkOutcomes::Add(Outcome&& row) {
  Known& known = known_[row.item];
  const auto age = [](const Outcome& o) { return std::tie(o.round, o.attempt, o.start_ms); };
  const bool newer = known.attempts++ == 0 || age(row) >= age(known.newest);
  if (newer) known.newest = std::move(row);
}

const ChunkOutcomes::Known* ChunkOutcomes::Find(std::int64_t item) const {
  const auto found = known_.find(item);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace tidemill
