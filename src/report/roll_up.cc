// SPDX-License-Identifier: Apache-2.0
#include "report/roll_up.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "model/outcome.h"
#include "report/block.h"
#include "report/summary.h"

namespace tidemill {
namespace {

using Row = BelievedRows::Row;

bool Has(const Bits& bits, std::int64_t offset) {
  return offset >= 0 && offset < bits.length() && bits.Get(static_cast<int>(offset));
}

class Reader {
 public:
  explicit Reader(std::int64_t first_item) : first_item_(first_item) {}

  void AddBody(const ReportToRoll& report) {
    Bits missing = report.settled;
    std::vector<std::int32_t>& tries = TriesOf(report.round);
    for (const int offset : report.settled.Indexes()) ++tries[offset];
    if (auto rows = DecodeBlock(report.body)) {
      for (Outcome& row : *rows) {
        const std::int64_t offset = row.item - first_item_;
        if (!Has(missing, offset)) continue;      // not settled, or said already
        if (row.cause == Cause::kLost) continue;  // an agent cannot know that
        missing.Clear(static_cast<int>(offset));
        row.round = report.round;
        read_.rows.push_back({std::move(row), Has(report.ended, offset)});
      }
    }
    read_.unreadable += missing.Count();
  }

  // After all bodies: the attempt that was lost is the one after those that failed.
  void AddLost(const ReportToRoll& report) {
    for (const int offset : report.settled.Indexes()) {
      Outcome row;
      row.item = first_item_ + offset;
      row.round = report.round;
      row.attempt = TriesOf(report.round)[offset] + 1;
      row.cause = Cause::kLost;
      read_.rows.push_back({std::move(row), Has(report.ended, offset)});
    }
  }

  BelievedRows Finish() {
    std::stable_sort(read_.rows.begin(), read_.rows.end(), [](const Row& a, const Row& b) {
      if (a.outcome.item != b.outcome.item) return a.outcome.item < b.outcome.item;
      if (a.outcome.round != b.outcome.round) return a.outcome.round < b.outcome.round;
      return a.outcome.attempt < b.outcome.attempt;
    });
    return std::move(read_);
  }

 private:
  std::vector<std::int32_t>& TriesOf(std::int32_t round) {
    return tries_.try_emplace(round, limits::kItemsPerChunk, 0).first->second;
  }

  const std::int64_t first_item_;
  std::map<std::int32_t, std::vector<std::int32_t>> tries_;  // by round: attempts in bodies
  BelievedRows read_;
};

// At most kBlockRows rows, in order. An item's newest row has age 0; of the last age that still
// fits in part, the lowest items are kept.
std::vector<Outcome> Kept(std::vector<Row> rows) {
  std::vector<std::size_t> ages(rows.size());
  std::vector<std::size_t> rows_of_age;
  for (std::size_t i = rows.size(); i-- > 0;) {
    const bool newest = i + 1 == rows.size() || rows[i + 1].outcome.item != rows[i].outcome.item;
    ages[i] = newest ? 0 : ages[i + 1] + 1;
    if (ages[i] == rows_of_age.size()) rows_of_age.push_back(0);
    ++rows_of_age[ages[i]];
  }
  std::size_t room = kBlockRows;
  std::size_t age = 0;  // all younger rows fit
  while (age < rows_of_age.size() && rows_of_age[age] <= room) room -= rows_of_age[age++];
  std::vector<Outcome> kept;
  kept.reserve(std::min(rows.size(), kBlockRows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (ages[i] > age || (ages[i] == age && room == 0)) continue;
    if (ages[i] == age) --room;
    // One for each item: so many fit in a block.
    if (ages[i] > 0) rows[i].outcome.result.clear();
    kept.push_back(std::move(rows[i].outcome));
  }
  return kept;
}

}  // namespace

Summary BelievedRows::AddUp() const {
  Summary summary;
  for (const Row& row : rows) summary.Add(row.outcome, row.ended);
  summary.unreadable = unreadable;
  return summary;
}

BelievedRows ReadReports(std::int64_t first_item, const std::vector<ReportToRoll>& reports) {
  TIDEMILL_CHECK(first_item >= 0);
  Reader reader(first_item);
  for (const ReportToRoll& report : reports) {
    if (!report.lost_limit) reader.AddBody(report);
  }
  for (const ReportToRoll& report : reports) {
    if (report.lost_limit) reader.AddLost(report);
  }
  return reader.Finish();
}

RolledReports RollUp(std::int64_t first_item, const std::vector<ReportToRoll>& reports) {
  BelievedRows read = ReadReports(first_item, reports);
  Summary summary = read.AddUp();
  const std::size_t rows = read.rows.size();
  const std::vector<Outcome> kept = Kept(std::move(read.rows));
  summary.dropped = static_cast<std::int64_t>(rows - kept.size());
  return {EncodeBlock(kept), summary.Encode()};
}

}  // namespace tidemill
