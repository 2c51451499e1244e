// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/outcome.h"

namespace tidemill {

// How often values of which size came, in buckets that are no wider than an eighth of their least
// value: each number below 16 has its own, each power of two above has eight.
class Histogram {
 public:
  static constexpr int kBuckets = 488;      // up to the greatest std::int64_t
  static int BucketOf(std::int64_t value);  // one below zero counts as zero
  static std::int64_t LeastOf(int bucket);
  static std::int64_t GreatestOf(int bucket);

  void Add(std::int64_t value, std::int64_t times = 1) { counts_[BucketOf(value)] += times; }
  void Merge(const Histogram& other);
  std::int64_t CountIn(int bucket) const { return counts_[bucket]; }
  std::int64_t Count() const;
  // The value that a fraction q of all values do not exceed, to within a sixteenth: the middle of
  // its bucket. Nothing if there are no values.
  std::optional<std::int64_t> Quantile(double q) const;
  bool operator==(const Histogram&) const = default;

 private:
  std::array<std::int64_t, kBuckets> counts_{};
};

// The items with the greatest values, greatest first; of equal values the lower item comes first.
// An item is there once, with the greatest value of its attempts, so the order of adding does not
// matter.
class TopItems {
 public:
  static constexpr std::size_t kKept = 16;
  struct Entry {
    std::int64_t item = 0;
    std::int64_t value = 0;
    bool operator==(const Entry&) const = default;
  };
  void Add(Entry entry);
  void Merge(const TopItems& other);
  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const TopItems&) const = default;

 private:
  std::vector<Entry> entries_;
};

// Least and greatest of a column; least > greatest if there are no rows.
struct ColumnRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
  void Add(std::int64_t value);
  void Merge(const ColumnRange& other);
  bool operator==(const ColumnRange&) const = default;
};

// What some rows of outcomes add up to. Summaries of a job's chunks add up to the job's.
struct Summary {
  std::array<std::int64_t, kCauses> attempts{};  // rows, by cause
  std::array<std::int64_t, kCauses> outcomes{};  // those of them that ended their item's round
  std::int64_t unreadable = 0;  // attempts that were recorded, but whose row could not be read
  std::int64_t dropped = 0;     // rows that are counted here, but were too many for the block

  // Nobody measured the attempts that were lost: they are not in these.
  Histogram duration_ms;
  Histogram memory_bytes;
  // Thousandths of a processor, over the whole attempt; those of less than 1 ms are left out.
  Histogram cpu_millis;
  ColumnRange cpu_range_millis;  // of the same attempts
  TopItems slowest;
  TopItems largest;

  // Of all rows: no row of the block has a value outside.
  ColumnRange item;
  ColumnRange attempt;
  ColumnRange exit;
  ColumnRange start_ms;
  ColumnRange duration_range_ms;
  ColumnRange cpu_ms;
  ColumnRange memory_range_bytes;

  bool operator==(const Summary&) const = default;

  std::int64_t Attempts() const;
  // A row as DecodeBlock gives it: only exit and start_ms may be below zero.
  void Add(const Outcome& row, bool ended);
  void Merge(const Summary& other);

  // "tmsu" │ version: varint, now 2
  //   │ causes: varint │ causes x attempts │ causes x outcomes │ unreadable │ dropped
  //   │ 2 x histogram: buckets that are not empty, then for each of them: how many further than the
  //   │                one before (the first: than 0), how often
  //   │ 2 x top items: how many, then for each: item, value
  //   │ if there are rows, 7 x range: least (signed), greatest less least
  //   │ histogram of cpu_millis, and if it is not empty its range: not in version 1
  // All are varints but the least of a range. One written when there were fewer causes has fewer.
  std::string Encode() const;
  // kInvalid for what Encode cannot have written.
  static Result<Summary> Decode(std::string_view bytes);
};

}  // namespace tidemill
