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

struct Row {
  Outcome outcome;
  bool ended = false;
};

bool Has(const Bits& bits, std::int64_t offset) {
  return offset >= 0 && offset < bits.length() && bits.Get(static_cast<int>(offset));
}

class Roll {
 public:
  explicit Roll(std::int64_t first_item) : first_item_(first_item) {}

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
        rows_.push_back({std::move(row), Has(report.ended, offset)});
      }
    }
    summary_.unreadable += missing.Count();
  }

  // After all bodies: the attempt that was lost is the one after those that failed.
  void AddLost(const ReportToRoll& report) {
    for (const int offset : report.settled.Indexes()) {
      Outcome row;
      row.item = first_item_ + offset;
      row.round = report.round;
      row.attempt = TriesOf(report.round)[offset] + 1;
      row.cause = Cause::kLost;
      rows_.push_back({std::move(row), Has(report.ended, offset)});
    }
  }

  RolledReports Finish() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      if (a.outcome.item != b.outcome.item) return a.outcome.item < b.outcome.item;
      if (a.outcome.round != b.outcome.round) return a.outcome.round < b.outcome.round;
      return a.outcome.attempt < b.outcome.attempt;
    });
    for (const Row& row : rows_) summary_.Add(row.outcome, row.ended);
    std::vector<Outcome> kept = Kept();
    summary_.dropped += static_cast<std::int64_t>(rows_.size() - kept.size());
    return {EncodeBlock(kept), summary_.Encode()};
  }

 private:
  // At most kBlockRows rows, in order. An item's newest row has age 0; of the last age that still
  // fits in part, the lowest items are kept.
  std::vector<Outcome> Kept() {
    std::vector<std::size_t> ages(rows_.size());
    std::vector<std::size_t> rows_of_age;
    for (std::size_t i = rows_.size(); i-- > 0;) {
      const bool newest =
          i + 1 == rows_.size() || rows_[i + 1].outcome.item != rows_[i].outcome.item;
      ages[i] = newest ? 0 : ages[i + 1] + 1;
      if (ages[i] == rows_of_age.size()) rows_of_age.push_back(0);
      ++rows_of_age[ages[i]];
    }
    std::size_t room = kBlockRows;
    std::size_t age = 0;  // all younger rows fit
    while (age < rows_of_age.size() && rows_of_age[age] <= room) room -= rows_of_age[age++];
    std::vector<Outcome> kept;
    kept.reserve(std::min(rows_.size(), kBlockRows));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (ages[i] > age || (ages[i] == age && room == 0)) continue;
      if (ages[i] == age) --room;
      kept.push_back(std::move(rows_[i].outcome));
    }
    return kept;
  }

  std::vector<std::int32_t>& TriesOf(std::int32_t round) {
    return tries_.try_emplace(round, limits::kItemsPerChunk, 0).first->second;
  }

  const std::int64_t first_item_;
  std::map<std::int32_t, std::vector<std::int32_t>> tries_;  // by round: attempts in bodies
  std::vector<Row> rows_;
  Summary summary_;
};

}  // namespace

RolledReports RollUp(std::int64_t first_item, const std::vector<ReportToRoll>& reports) {
  TIDEMILL_CHECK(first_item >= 0);
  Roll roll(first_item);
  for (const ReportToRoll& report : reports) {
    if (!report.lost_limit) roll.AddBody(report);
  }
  for (const ReportToRoll& report : reports) {
    if (report.lost_limit) roll.AddLost(report);
  }
  return roll.Finish();
}

}  // namespace tidemill
