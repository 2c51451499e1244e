// SPDX-License-Identifier: Apache-2.0
#include "report/failure_groups.h"

#include <algorithm>
#include <utility>

#include "report/signature.h"

namespace tidemill {
namespace {

// The largest first; of equal ones that whose first item comes first.
bool ComesFirst(const FailureGroup& a, const FailureGroup& b) {
  if (a.count != b.count) return a.count > b.count;
  return a.first_items < b.first_items;
}

}  // namespace

FailureKey FailureKeyOf(const Outcome& outcome) {
  std::string signature = outcome.error;
  if (signature.empty()) signature = SignatureOfCause(outcome.cause, outcome.exit);
  // Only an agent that lies says of an item that has failed that nothing was wrong.
  if (signature.empty()) signature = CauseName(outcome.cause);
  return {std::move(signature), outcome.cause};
}

void FailureGroups::Add(const Outcome& outcome) {
  ++failed_;
  FailureKey key = FailureKeyOf(outcome);
  auto found = groups_.find(key);
  if (found == groups_.end()) {
    if (groups_.size() == kKept) DropSmall();
    found = groups_.emplace(key, FailureGroup{}).first;
    found->second.key = std::move(key);
  }
  FailureGroup& group = found->second;
  ++group.count;
  std::vector<std::int64_t>& first = group.first_items;
  const auto at = std::upper_bound(first.begin(), first.end(), outcome.item);
  if (at == first.begin()) group.example = outcome;
  if (first.size() == kFirstItems && at == first.end()) return;
  first.insert(at, outcome.item);
  if (first.size() > kFirstItems) first.pop_back();
}

void FailureGroups::DropSmall() {
  std::vector<std::int64_t> counts;
  for (const auto& [key, group] : groups_) counts.push_back(group.count);
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  std::size_t to_drop = counts.size() / 2;
  for (auto it = groups_.begin(); it != groups_.end() && to_drop > 0;) {
    if (it->second.count > *middle) {
      ++it;
      continue;
    }
    --to_drop;
    ++dropped_groups_;
    dropped_items_ += it->second.count;
    it = groups_.erase(it);
  }
}

FailureSummary FailureGroups::Finish() const {
  FailureSummary summary;
  summary.failed = failed_;
  summary.partial = dropped_groups_ > 0;
  for (const auto& [key, group] : groups_) summary.groups.push_back(group);
  std::sort(summary.groups.begin(), summary.groups.end(), ComesFirst);
  summary.rest_groups = dropped_groups_;
  summary.rest_items = dropped_items_;
  while (summary.groups.size() > kShown) {
    ++summary.rest_groups;
    summary.rest_items += summary.groups.back().count;
    summary.groups.pop_back();
  }
  return summary;
}

}  // namespace tidemill
