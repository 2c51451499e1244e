// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "provider/aws/group.h"
#include "provider/provider.h"

namespace tidemill {

// What is to be done with a group, decided from what is there alone. Two who see the same decide
// alike, so it may be decided by two at once. Pure.

// An instance and its name.
struct AwsNaming {
  std::string id = {};
  std::string name = {};
  bool operator==(const AwsNaming&) const = default;
};

struct AwsMakePlan {
  std::vector<AwsNaming> name = {};       // instances that have none yet get these
  std::vector<std::string> missing = {};  // there is no instance for them yet
  std::vector<std::string> refused = {};  // they are beyond what the group may have
  std::int64_t target = 0;                // of the group, if something is missing
};
// `ended` are names that are over, beside those of the view.
AwsMakePlan PlanMake(const AwsView& view, const std::vector<std::string>& wanted,
                     const std::set<std::string>& ended);

struct AwsEndPlan {
  std::vector<std::string> in_group = {};  // ids; the target falls with them
  std::vector<std::string> outside = {};   // ids
};
AwsEndPlan PlanEnd(const AwsView& view, const std::vector<std::string>& names);

// An instance that nobody has ordered for so long is ended.
inline constexpr Duration kUnordered = std::chrono::minutes(5);

struct AwsTidyPlan {
  std::vector<AwsNaming> unname = {};       // another has the name, or had it
  AwsEndPlan end = {};                      // the dead that still count, and what nobody ordered
  std::optional<std::int64_t> target = {};  // what nobody orders any more is not tried for ever
  bool empty() const {
    return unname.empty() && end.in_group.empty() && end.outside.empty() && !target;
  }
};
// `last_order` is when somebody last wanted machines; the future: somebody does.
AwsTidyPlan PlanTidy(const AwsView& view, TimePoint last_order, TimePoint now,
                     Duration unordered = kUnordered);

// How many count for the target.
std::int64_t MembersOf(const AwsView& view);

// Why the group does not make what is missing: of the activities that were not there before. Empty:
// nothing says that it does not. While it still tries, it is given the time, up to the `last` look.
std::string FailureOf(const std::vector<AwsActivity>& activities,
                      const std::set<std::string>& before, bool last);
// Whether the words say that the account may have no more.
bool IsAboutQuota(const std::string& words);

}  // namespace tidemill
