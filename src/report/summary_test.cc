// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/bytes.h"

namespace tidemill {
namespace {

constexpr std::int64_t kMostInSummary = std::numeric_limits<std::int64_t>::max();

std::int64_t AnyValue() {
  return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 100),
                         rc::gen::inRange<std::int64_t>(0, 1'000'000),
                         rc::gen::inRange<std::int64_t>(0, kMostInSummary));
}

struct Fact {
  Outcome row;
  bool ended = false;
};

Fact AnyFact() {
  Outcome row;
  row.item = *rc::gen::inRange<std::int64_t>(0, 60);
  row.attempt = *rc::gen::inRange(1, 5);
  row.cause = static_cast<Cause>(*rc::gen::inRange(0, kCauses));
  row.exit = *rc::gen::inRange(-5, 256);
  row.start_ms = *rc::gen::arbitrary<std::int64_t>();
  row.duration_ms = AnyValue();
  row.cpu_ms = AnyValue();
  row.memory_bytes = AnyValue();
  return {row, *rc::gen::arbitrary<bool>()};
}

std::vector<Fact> AnyFacts() {
  return *rc::gen::container<std::vector<Fact>>(rc::gen::exec(AnyFact));
}

Summary SummaryOf(const std::vector<Fact>& facts) {
  Summary summary;
  for (const Fact& fact : facts) summary.Add(fact.row, fact.ended);
  return summary;
}

Outcome Ran(std::int64_t item, std::int64_t duration_ms, std::int64_t memory_bytes = 0) {
  Outcome row;
  row.item = item;
  row.duration_ms = duration_ms;
  row.memory_bytes = memory_bytes;
  return row;
}

TEST(Histogram, HasBucketsThatFollowEachOtherAndAreNarrow) {
  EXPECT_EQ(Histogram::LeastOf(0), 0);
  for (int b = 0; b < Histogram::kBuckets; ++b) {
    const std::int64_t least = Histogram::LeastOf(b);
    const std::int64_t greatest = Histogram::GreatestOf(b);
    EXPECT_EQ(Histogram::BucketOf(least), b);
    EXPECT_EQ(Histogram::BucketOf(greatest), b);
    EXPECT_LE(greatest - least, least / 8);
    if (b > 0) {
      EXPECT_EQ(Histogram::GreatestOf(b - 1), least - 1);
    }
  }
  EXPECT_EQ(Histogram::GreatestOf(Histogram::kBuckets - 1), kMostInSummary);
  EXPECT_EQ(Histogram::BucketOf(-7), 0);
}

TEST(Histogram, HasNoQuantileOfNothing) { EXPECT_EQ(Histogram().Quantile(0.5), std::nullopt); }

TEST(Histogram, IsExactBelowSixteen) {
  Histogram histogram;
  for (int value = 1; value <= 10; ++value) histogram.Add(value);
  EXPECT_EQ(histogram.Quantile(0), 1);
  EXPECT_EQ(histogram.Quantile(0.5), 5);
  EXPECT_EQ(histogram.Quantile(0.51), 6);
  EXPECT_EQ(histogram.Quantile(1), 10);
  EXPECT_EQ(histogram.Quantile(7), 10);
}

RC_GTEST_PROP(Histogram, GivesQuantilesToWithinASixteenth, ()) {
  auto values =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::exec(AnyValue)));
  const double q = *rc::gen::inRange(0, 1001) / 1000.0;
  Histogram histogram;
  for (const std::int64_t value : values) histogram.Add(value);
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  const auto exact = static_cast<double>(values[std::max<std::size_t>(rank, 1) - 1]);
  const auto found = static_cast<double>(histogram.Quantile(q).value());
  RC_ASSERT(std::abs(found - exact) <= exact / 16);
}

TEST(TopItems, PutsTheLowerItemFirstIfValuesAreEqual) {
  TopItems top;
  for (std::int64_t item = 40; item >= 0; --item) top.Add({item, 5});
  ASSERT_EQ(top.entries().size(), TopItems::kKept);
  for (std::size_t i = 0; i < TopItems::kKept; ++i) {
    EXPECT_EQ(top.entries()[i], (TopItems::Entry{static_cast<std::int64_t>(i), 5}));
  }
}

TEST(TopItems, HoldsAnItemOnceWithItsGreatestValue) {
  TopItems top;
  top.Add({1, 5});
  top.Add({2, 7});
  top.Add({1, 9});
  top.Add({1, 3});
  EXPECT_EQ(top.entries(), (std::vector<TopItems::Entry>{{1, 9}, {2, 7}}));
}

RC_GTEST_PROP(TopItems, AreTheGreatestOfAllThatWereAdded, ()) {
  const auto pairs = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 40), rc::gen::inRange(0, 30)));
  TopItems top;
  std::map<std::int64_t, std::int64_t> greatest;
  for (const auto& [item, value] : pairs) {
    top.Add({item, value});
    greatest[item] = std::max<std::int64_t>(greatest[item], value);
  }
  std::vector<TopItems::Entry> expected;
  for (const auto& [item, value] : greatest) expected.push_back({item, value});
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  if (expected.size() > TopItems::kKept) expected.resize(TopItems::kKept);
  RC_ASSERT(top.entries() == expected);
}

TEST(Summary, CountsAttemptsAndOutcomesByCause) {
  Summary summary;
  Outcome row = Ran(1, 10);
  row.cause = Cause::kFailed;
  summary.Add(row, false);
  row.cause = Cause::kSucceeded;
  summary.Add(row, true);
  row.cause = Cause::kLost;
  summary.Add(row, true);
  EXPECT_EQ(summary.attempts, (std::array<std::int64_t, kCauses>{1, 1, 1, 0}));
  EXPECT_EQ(summary.outcomes, (std::array<std::int64_t, kCauses>{1, 0, 1, 0}));
  EXPECT_EQ(summary.Attempts(), 3);
}

TEST(Summary, KeepsLostAttemptsOutOfWhatWasMeasuredButInsideTheRanges) {
  Summary summary;
  summary.Add(Ran(7, 100, 200), true);
  Outcome lost = Ran(3, 0);
  lost.cause = Cause::kLost;
  summary.Add(lost, true);
  EXPECT_EQ(summary.duration_ms.Count(), 1);
  EXPECT_EQ(summary.memory_bytes.Count(), 1);
  EXPECT_EQ(summary.slowest.entries().size(), 1u);
  EXPECT_EQ(summary.largest.entries().size(), 1u);
  EXPECT_EQ(summary.duration_range_ms, (ColumnRange{0, 100}));
  EXPECT_EQ(summary.item, (ColumnRange{3, 7}));
}

TEST(Summary, MeasuresTheUseOfProcessorsOfAttemptsThatTookTime) {
  Summary summary;
  const auto add = [&](std::int64_t cpu_ms, std::int64_t duration_ms, Cause cause) {
    Outcome row = Ran(1, duration_ms);
    row.cpu_ms = cpu_ms;
    row.cause = cause;
    summary.Add(row, true);
  };
  add(3000, 2000, Cause::kSucceeded);
  add(5, 1000, Cause::kTimeout);
  add(500, 0, Cause::kSucceeded);  // too short to tell
  add(500, 10, Cause::kLost);      // nobody has seen it
  EXPECT_EQ(summary.cpu_millis.Count(), 2);
  EXPECT_EQ(summary.cpu_millis.CountIn(Histogram::BucketOf(1500)), 1);
  EXPECT_EQ(summary.cpu_range_millis, (ColumnRange{5, 1500}));
  add(kMostInSummary, 1, Cause::kSucceeded);  // a lie, but no overflow
  EXPECT_EQ(summary.cpu_millis.Count(), 3);
}

TEST(Summary, OfAChunkIsSmall) {
  Summary summary;
  for (int i = 0; i < 2048; ++i) summary.Add(Ran(i, 900 + i * 7 % 4000, 1'000'000 + i * 977), true);
  EXPECT_LT(summary.Encode().size(), 600u);
}

RC_GTEST_PROP(Summary, HasNoRowOutsideItsRanges, ()) {
  const auto facts = AnyFacts();
  const Summary summary = SummaryOf(facts);
  const auto inside = [](const ColumnRange& range, std::int64_t value) {
    return range.least <= value && value <= range.greatest;
  };
  for (const auto& [row, ended] : facts) {
    RC_ASSERT(inside(summary.item, row.item));
    RC_ASSERT(inside(summary.attempt, row.attempt));
    RC_ASSERT(inside(summary.exit, row.exit));
    RC_ASSERT(inside(summary.start_ms, row.start_ms));
    RC_ASSERT(inside(summary.duration_range_ms, row.duration_ms));
    RC_ASSERT(inside(summary.cpu_ms, row.cpu_ms));
    RC_ASSERT(inside(summary.memory_range_bytes, row.memory_bytes));
  }
}

RC_GTEST_PROP(Summary, OfTwoHalvesMergedIsTheSummaryOfTheWhole, ()) {
  auto facts = AnyFacts();
  const auto cut = *rc::gen::inRange<std::size_t>(0, facts.size() + 1);
  const std::vector<Fact> first(facts.begin(), facts.begin() + static_cast<std::ptrdiff_t>(cut));
  const std::vector<Fact> second(facts.begin() + static_cast<std::ptrdiff_t>(cut), facts.end());
  Summary merged = SummaryOf(second);
  merged.unreadable = 2;
  Summary other = SummaryOf(first);
  other.unreadable = 3;
  other.dropped = 4;
  merged.Merge(other);
  Summary whole = SummaryOf(facts);
  whole.unreadable = 5;
  whole.dropped = 4;
  RC_ASSERT(merged == whole);
}

RC_GTEST_PROP(Summary, GivesBackWhatItWas, ()) {
  Summary summary = SummaryOf(AnyFacts());
  summary.unreadable = *rc::gen::inRange(0, 5000);
  summary.dropped = *rc::gen::inRange(0, 5000);
  const auto decoded = Summary::Decode(summary.Encode());
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == summary);
}

Summary Typical() {
  Summary summary;
  for (int i = 0; i < 40; ++i) summary.Add(Ran(i, i * i * 37, i * 1'000'003), i % 2 == 0);
  summary.unreadable = 3;
  return summary;
}

TEST(Summary, RefusesEveryTruncationAndWhatFollowsItsEnd) {
  const std::string bytes = Typical().Encode();
  ASSERT_TRUE(Summary::Decode(bytes).has_value());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Summary::Decode(std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(Summary::Decode(bytes + '\0').has_value());
  EXPECT_FALSE(Summary::Decode(bytes + std::string(20'000, '\0')).has_value());
}

TEST(Summary, SurvivesEveryFlippedBitAndCanStillBeMerged) {
  const std::string bytes = Typical().Encode();
  Summary all;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    if (const auto decoded = Summary::Decode(flipped)) {
      all.Merge(*decoded);
      EXPECT_EQ(Summary::Decode(decoded->Encode()).value(), *decoded);
    }
  }
}

RC_GTEST_PROP(Summary, SurvivesAnyBytes, (const std::string& bytes)) {
  RC_ASSERT(!Summary::Decode(bytes).has_value());
  for (const char* head : {"tmsu\x01\x03", "tmsu\x02\x04"}) {
    if (const auto decoded = Summary::Decode(head + bytes)) {
      RC_ASSERT(decoded->Encode().size() <= 24u * 1024);
    }
  }
}

std::string WithHistogram(std::initializer_list<std::uint64_t> histogram) {
  std::string bytes = "tmsu";
  for (const int value : {1, 3, 0, 0, 0, 0, 0, 0, 0, 0}) PutVarint(bytes, value);
  for (const std::uint64_t value : histogram) PutVarint(bytes, value);
  for (const int value : {0, 0, 0}) PutVarint(bytes, value);
  return bytes;
}

// With three causes and two histograms: such summaries are stored.
TEST(Summary, OfVersionOneCanStillBeRead) {
  std::string bytes = "tmsu";
  PutVarint(bytes, 1);
  for (const int value : {3, 10, 2, 1, 9, 1, 1, 4, 5}) PutVarint(bytes, value);
  for (const int value : {1, 7, 12}) PutVarint(bytes, value);            // durations
  for (const int value : {1, 9, 12}) PutVarint(bytes, value);            // memory
  for (const int value : {1, 44, 7, 1, 44, 9}) PutVarint(bytes, value);  // slowest, largest
  for (int range = 0; range < 7; ++range) {
    PutSigned(bytes, range);
    PutVarint(bytes, 3);
  }
  const auto read = Summary::Decode(bytes);
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(read->attempts, (std::array<std::int64_t, kCauses>{10, 2, 1, 0}));
  EXPECT_EQ(read->outcomes, (std::array<std::int64_t, kCauses>{9, 1, 1, 0}));
  EXPECT_EQ(read->unreadable, 4);
  EXPECT_EQ(read->dropped, 5);
  EXPECT_EQ(read->duration_ms.CountIn(7), 12);
  EXPECT_EQ(read->slowest.entries(), (std::vector<TopItems::Entry>{{44, 7}}));
  EXPECT_EQ(read->memory_range_bytes, (ColumnRange{6, 9}));
  EXPECT_EQ(read->cpu_millis.Count(), 0);
  Summary sum = Typical();
  sum.Merge(*read);
  EXPECT_EQ(Summary::Decode(sum.Encode()).value(), sum);
}

TEST(Summary, RefusesHistogramsThatCannotBe) {
  const std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_TRUE(Summary::Decode(WithHistogram({2, 0, 1, 487, 1})).has_value());
  EXPECT_FALSE(Summary::Decode(WithHistogram({1, 488, 1})).has_value());
  EXPECT_FALSE(Summary::Decode(WithHistogram({2, 3, 1, 0, 1})).has_value());  // one bucket twice
  EXPECT_FALSE(Summary::Decode(WithHistogram({2, 3, 1, huge, 1})).has_value());
  EXPECT_FALSE(Summary::Decode(WithHistogram({1, 3, 0})).has_value());
  EXPECT_FALSE(Summary::Decode(WithHistogram({1, 3, huge})).has_value());
  EXPECT_FALSE(Summary::Decode(WithHistogram({huge})).has_value());
}

}  // namespace
}  // namespace tidemill
