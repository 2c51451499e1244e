// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tidemill {
namespace {

using State = AwsInstance::State;
using Place = AwsInstance::Place;

bool IsOver(const AwsInstance& instance) {
  return instance.state == State::kEnding || instance.state == State::kEnded;
}

// spot-9 comes before spot-10.
bool ComesBefore(const std::string& a, const std::string& b) {
  return std::tuple(a.size(), a) < std::tuple(b.size(), b);
}

// Those that can be given a name, the oldest first.
std::vector<AwsInstance> FreeOf(const AwsView& view) {
  std::vector<AwsInstance> free;
  for (const AwsInstance& each : view.instances) {
    const bool is_free =
        each.name.empty() && each.state == State::kThere && each.place == Place::kMember;
    if (is_free) free.push_back(each);
  }
  std::sort(free.begin(), free.end(), [](const AwsInstance& a, const AwsInstance& b) {
    return std::tie(a.since, a.id) < std::tie(b.since, b.id);
  });
  return free;
}

// One name is one machine for all time: the first by id keeps it, and none whose like has ended.
std::vector<AwsNaming> DoublesOf(const AwsView& view) {
  std::map<std::string, std::string> keeper;  // by name; its id
  for (const AwsInstance& each : view.instances) {
    if (each.name.empty()) continue;
    const auto [place, is_new] = keeper.try_emplace(each.name, each.id);
    const bool has_ended = each.state == State::kEnded;
    if (!is_new && has_ended) place->second = each.id;
  }
  std::vector<AwsNaming> doubles;
  for (const AwsInstance& each : view.instances) {
    if (each.name.empty() || IsOver(each) || keeper[each.name] == each.id) continue;
    doubles.push_back({each.id, each.name});
  }
  return doubles;
}

void Add(AwsEndPlan& plan, const AwsInstance& instance) {
  if (instance.place == Place::kMember) plan.in_group.push_back(instance.id);
  if (instance.place == Place::kOutside && !IsOver(instance)) plan.outside.push_back(instance.id);
}

}  // namespace

std::int64_t MembersOf(const AwsView& view) {
  return std::count_if(view.instances.begin(), view.instances.end(),
                       [](const AwsInstance& each) { return each.place == Place::kMember; });
}

AwsMakePlan PlanMake(const AwsView& view, const std::vector<std::string>& wanted,
                     const std::set<std::string>& ended) {
  std::set<std::string> done = ended;
  std::int64_t named = 0;
  for (const AwsInstance& each : view.instances) {
    if (each.name.empty()) continue;
    done.insert(each.name);
    if (each.place == Place::kMember && each.state == State::kThere) ++named;
  }
  AwsMakePlan plan;
  for (const std::string& name : wanted) {
    if (done.insert(name).second) plan.missing.push_back(name);
  }
  std::sort(plan.missing.begin(), plan.missing.end(), ComesBefore);

  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(view.max - named, 0));
  if (plan.missing.size() > room) {
    plan.refused.assign(plan.missing.begin() + static_cast<std::ptrdiff_t>(room),
                        plan.missing.end());
    plan.missing.resize(room);
  }
  plan.target = named + static_cast<std::int64_t>(plan.missing.size());

  const std::vector<AwsInstance> free = FreeOf(view);
  const std::size_t given = std::min(free.size(), plan.missing.size());
  for (std::size_t i = 0; i < given; ++i) plan.name.push_back({free[i].id, plan.missing[i]});
  plan.missing.erase(plan.missing.begin(),
                     plan.missing.begin() + static_cast<std::ptrdiff_t>(given));
  return plan;
}

AwsEndPlan PlanEnd(const AwsView& view, const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  AwsEndPlan plan;
  for (const AwsInstance& each : view.instances) {
    if (wanted.contains(each.name) && !each.name.empty()) Add(plan, each);
  }
  return plan;
}

AwsTidyPlan PlanTidy(const AwsView& view, TimePoint last_order, TimePoint now, Duration unordered) {
  AwsTidyPlan plan;
  plan.unname = DoublesOf(view);
  for (const AwsInstance& each : view.instances) {
    const bool is_gone = each.state == State::kUnknown && each.unhealthy;
    const bool is_dead = IsOver(each) || is_gone || each.state == State::kStopped;
    const bool is_unordered = each.name.empty() && each.state == State::kThere &&
                              now - each.since > unordered && last_order <= now;
    if ((is_dead && each.place == Place::kMember) || is_unordered) Add(plan.end, each);
  }
  const std::int64_t members = MembersOf(view);
  const bool is_settled = plan.end.in_group.empty() && now - last_order > unordered;
  if (view.exists && view.target > members && is_settled) plan.target = members;
  return plan;
}

std::string FailureOf(const std::vector<AwsActivity>& activities,
                      const std::set<std::string>& before, bool last) {
  std::string words;
  for (const AwsActivity& each : activities) {
    if (each.under_way && !last) return "";
    const bool is_new = !before.contains(each.id);
    if (each.failed && is_new && words.empty()) {
      words = each.words.empty() ? "the group could not make it" : each.words;
    }
  }
  return words;
}

bool IsAboutQuota(const std::string& words) {
  for (const char* sign : {"VcpuLimitExceeded", "vCPU limit", "MaxSpotInstanceCountExceeded",
                           "InstanceLimitExceeded", "Max spot instance count exceeded"}) {
    if (words.find(sign) != std::string::npos) return true;
  }
  return false;
}

}  // namespace tidemill
