// SPDX-License-Identifier: Apache-2.0
#include "report/roll_up.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/limits.h"
#include "model/outcome.h"
#include "report/block.h"
#include "report/summary.h"

namespace tidemill {
namespace {

constexpr std::int64_t kFirst = 4096;
constexpr int kLength = 10;

Outcome Row(int offset, int attempt, Cause cause = Cause::kSucceeded) {
  Outcome row;
  row.item = kFirst + offset;
  row.attempt = attempt;
  row.cause = cause;
  row.duration_ms = 100 + offset;
  row.machine = "m";
  return row;
}

Bits Offsets(std::initializer_list<int> offsets, int length = kLength) {
  Bits bits(length);
  for (const int offset : offsets) bits.Set(offset);
  return bits;
}

// Reports, and the bodies they look at.
class Reports {
 public:
  Reports& Body(std::string body, const Bits& settled, const Bits& ended) {
    bodies_.push_back(std::move(body));
    list_.push_back({bodies_.back(), settled, ended, false, round_});
    return *this;
  }
  // Of the reports from here on.
  Reports& Round(int round) {
    round_ = round;
    return *this;
  }
  Reports& Rows(const std::vector<Outcome>& rows, const Bits& settled, const Bits& ended) {
    return Body(EncodeBlock(rows), settled, ended);
  }
  Reports& Lost(const Bits& settled) {
    list_.push_back({"", settled, settled, true, round_});
    return *this;
  }

  struct Rolled {
    std::vector<Outcome> rows;
    Summary summary;
  };
  Rolled Roll() const {
    const RolledReports rolled = RollUp(kFirst, list_);
    return {DecodeBlock(rolled.block).value(), Summary::Decode(rolled.summary).value()};
  }

 private:
  std::deque<std::string> bodies_;
  std::vector<ReportToRoll> list_;
  int round_ = 0;
};

TEST(RollUp, OfNoReportsIsEmpty) {
  const auto [rows, summary] = Reports().Roll();
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(summary, Summary());
}

TEST(RollUp, SortsByItemThenAttempt) {
  const auto [rows, summary] =
      Reports()
          .Rows({Row(3, 1), Row(1, 2)}, Offsets({1, 3}), Offsets({1, 3}))
          .Rows({Row(1, 1, Cause::kFailed), Row(0, 1)}, Offsets({0, 1}), Offsets({0}))
          .Roll();
  EXPECT_EQ(rows, (std::vector{Row(0, 1), Row(1, 1, Cause::kFailed), Row(1, 2), Row(3, 1)}));
  EXPECT_EQ(summary.attempts, (std::array<std::int64_t, kCauses>{3, 1, 0, 0}));
  EXPECT_EQ(summary.outcomes, (std::array<std::int64_t, kCauses>{3, 0, 0, 0}));
  EXPECT_EQ(summary.unreadable, 0);
}

TEST(RollUp, TellsTheRoundsOfAReopenedItemApartWhateverTheAgentSays) {
  Outcome again = Row(1, 1);
  again.round = 7;
  const auto [rows, summary] = Reports()
                                   .Round(2)
                                   .Rows({again}, Offsets({1}), Offsets({1}))
                                   .Lost(Offsets({3}))
                                   .Round(0)
                                   .Rows({Row(1, 1, Cause::kFailed), Row(3, 1, Cause::kFailed)},
                                         Offsets({1, 3}), Offsets({}))
                                   .Roll();
  again.round = 2;
  Outcome lost;
  lost.item = kFirst + 3;
  lost.round = 2;
  lost.cause = Cause::kLost;
  EXPECT_EQ(rows, (std::vector{Row(1, 1, Cause::kFailed), again, Row(3, 1, Cause::kFailed), lost}));
}

TEST(RollUp, BelievesNoRowOutsideWhatWasSettled) {
  Outcome before = Row(0, 1);
  before.item = kFirst - 1;
  Outcome past = Row(kLength, 1);
  Outcome far = Row(0, 1);
  far.item = std::numeric_limits<std::int64_t>::max();
  const auto [rows, summary] =
      Reports().Rows({before, Row(1, 1), Row(2, 1), past, far}, Offsets({2}), Offsets({2})).Roll();
  EXPECT_EQ(rows, std::vector{Row(2, 1)});
  EXPECT_EQ(summary.Attempts(), 1);
}

TEST(RollUp, TakesTheFirstOfTwoRowsAboutAnItemInOneReport) {
  const auto [rows, summary] =
      Reports().Rows({Row(2, 1), Row(2, 2, Cause::kFailed)}, Offsets({2}), Offsets({2})).Roll();
  EXPECT_EQ(rows, std::vector{Row(2, 1)});
}

TEST(RollUp, CountsSettledItemsWithoutARowAsUnreadable) {
  const auto [rows, summary] = Reports()
                                   .Rows({Row(2, 1)}, Offsets({2, 3, 4}), Offsets({2, 3}))
                                   .Body("no block at all", Offsets({5, 6}), Offsets({5, 6}))
                                   .Body("", Offsets({7}), Offsets({7}))
                                   .Roll();
  EXPECT_EQ(rows, std::vector{Row(2, 1)});
  EXPECT_EQ(summary.unreadable, 5);
  EXPECT_EQ(summary.Attempts(), 1);
}

TEST(RollUp, BelievesNoAgentThatAnItemWasLost) {
  const auto [rows, summary] =
      Reports().Rows({Row(2, 1, Cause::kLost)}, Offsets({2}), Offsets({2})).Roll();
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(summary.unreadable, 1);
}

TEST(RollUp, MakesARowForEachItemThatWasLostTooOften) {
  const auto [rows, summary] = Reports()
                                   .Lost(Offsets({1, 2}))
                                   .Rows({Row(2, 1, Cause::kFailed)}, Offsets({2}), Offsets({}))
                                   .Roll();
  Outcome lost_first;
  lost_first.item = kFirst + 1;
  lost_first.cause = Cause::kLost;
  Outcome lost_later = lost_first;
  lost_later.item = kFirst + 2;
  lost_later.attempt = 2;
  EXPECT_EQ(rows, (std::vector{lost_first, Row(2, 1, Cause::kFailed), lost_later}));
  EXPECT_EQ(summary.outcomes, (std::array<std::int64_t, kCauses>{0, 0, 2, 0}));
  EXPECT_EQ(summary.duration_ms.Count(), 1);
}

TEST(RollUp, KeepsTheNewestRowsOfEachItemIfThereAreTooMany) {
  constexpr int kWide = limits::kItemsPerChunk;
  constexpr int kAttempts = kBlockRows / kWide + 1;
  const Bits all = Bits::All(kWide);
  Reports reports;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    std::vector<Outcome> rows;
    for (int i = 0; i < kWide; ++i) rows.push_back(Row(i, attempt, Cause::kFailed));
    reports.Rows(rows, all, attempt == kAttempts ? all : Bits(kWide));
  }
  // With one more attempt, the oldest row that would just fit is not one of item 5.
  reports.Rows({Row(5, kAttempts + 1)}, Offsets({5}, kWide), Bits(kWide));
  const auto [rows, summary] = reports.Roll();
  ASSERT_EQ(rows.size(), kBlockRows);
  EXPECT_EQ(summary.Attempts(), kAttempts * kWide + 1);
  EXPECT_EQ(summary.dropped, kWide + 1);
  std::array<std::int32_t, kWide> oldest{};
  std::array<std::int32_t, kWide> count{};
  for (const Outcome& row : rows) {
    const auto offset = static_cast<std::size_t>(row.item - kFirst);
    if (count[offset]++ == 0) oldest[offset] = row.attempt;
  }
  EXPECT_EQ(count[5], kAttempts - 1);
  EXPECT_EQ(oldest[5], 3);
  EXPECT_EQ(oldest[0], 2);
  EXPECT_EQ(oldest[kWide - 1], 2);
}

RC_GTEST_PROP(RollUp, AccountsForEverySettledAttempt, ()) {
  Reports reports;
  std::int64_t settled_count = 0;
  std::int64_t ended_count = 0;
  const int count = *rc::gen::inRange(0, 6);
  for (int r = 0; r < count; ++r) {
    Bits settled(kLength);
    Bits ended(kLength);
    std::vector<Outcome> rows;
    for (int i = 0; i < kLength; ++i) {
      if (*rc::gen::arbitrary<bool>()) settled.Set(i);
      if (settled.Get(i) && *rc::gen::arbitrary<bool>()) ended.Set(i);
      const int copies = *rc::gen::inRange(0, 3);
      for (int k = 0; k < copies; ++k) rows.push_back(Row(i, r + 1));
    }
    settled_count += settled.Count();
    if (*rc::gen::inRange(0, 4) == 0) {
      reports.Lost(settled);
      ended_count += settled.Count();
    } else {
      reports.Rows(rows, settled, ended);
      ended_count += ended.Count();
    }
  }
  const auto [rows, summary] = reports.Roll();
  RC_ASSERT(summary.Attempts() + summary.unreadable == settled_count);
  RC_ASSERT(summary.Attempts() == static_cast<std::int64_t>(rows.size()));
  RC_ASSERT(summary.dropped == 0);
  std::int64_t outcomes = 0;
  for (const std::int64_t of_cause : summary.outcomes) outcomes += of_cause;
  RC_ASSERT(outcomes <= ended_count);
  RC_ASSERT(std::is_sorted(rows.begin(), rows.end(), [](const Outcome& a, const Outcome& b) {
    return std::pair(a.item, a.attempt) < std::pair(b.item, b.attempt);
  }));
}

RC_GTEST_PROP(RollUp, SurvivesAnyBodies, (const std::vector<std::string>& bodies)) {
  Reports reports;
  for (const std::string& body : bodies) reports.Body(body, Bits::All(kLength), Bits(kLength));
  const auto [rows, summary] = reports.Roll();
  RC_ASSERT(rows.empty());
  RC_ASSERT(summary.unreadable == static_cast<std::int64_t>(bodies.size()) * kLength);
}

}  // namespace
}  // namespace tidemill
