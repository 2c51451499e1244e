// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/outcome.h"

namespace tidemill {

// What failures have in common.
struct FailureKey {
  std::string signature;
  Cause cause = Cause::kFailed;
  auto operator<=>(const FailureKey&) const = default;
};
// Of an outcome without a signature, as an agent that is older writes it, the cause gives one.
FailureKey FailureKeyOf(const Outcome& outcome);

struct FailureGroup {
  FailureKey key;
  std::int64_t count = 0;
  std::vector<std::int64_t> first_items;  // ascending; a few
  Outcome example;                        // of the first of them
  bool operator==(const FailureGroup&) const = default;
};

struct FailureSummary {
  std::int64_t failed = 0;           // items that were looked at
  std::vector<FailureGroup> groups;  // the largest first, then by first item
  std::int64_t rest_groups = 0;      // that are not among them, as far as they were told apart
  std::int64_t rest_items = 0;       // in those
  bool partial = false;              // some items are not counted in their group, or not at all
  bool operator==(const FailureSummary&) const = default;
};

// Groups any number of failures in bounded memory.
class FailureGroups {
 public:
  static constexpr std::size_t kFirstItems = 5;
  static constexpr std::size_t kShown = 200;
  // Groups that are told apart at a time: some 5 MB. When there are more, the smaller half is only
  // counted from then on.
  static constexpr std::size_t kKept = 8192;

  // The last word of an item that has failed. Each item once.
  void Add(const Outcome& outcome);
  FailureSummary Finish() const;

 private:
  void DropSmall();

  std::map<FailureKey, FailureGroup> groups_;
  std::int64_t failed_ = 0;
  std::int64_t dropped_groups_ = 0;
  std::int64_t dropped_items_ = 0;
};

}  // namespace tidemill
