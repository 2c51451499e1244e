// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/make_plan.h"

#include <map>
#include <optional>

namespace tidemill {
namespace {

struct Looker {
  std::map<std::string, const ManagedInstance*> managed;
  std::set<std::string> there;
};

Looker LookerOf(const GroupView& view) {
  Looker looker;
  for (const ManagedInstance& one : view.managed) looker.managed[one.name] = &one;
  for (const GcpInstance& one : view.instances) looker.there.insert(one.name);
  return looker;
}

void Refuse(MakePlan& plan, const std::string& machine, const GcpFault& fault) {
  plan.refused.push_back(machine);
  if (plan.words.empty()) plan.words = FaultWords(fault);
  plan.is_quota = plan.is_quota || IsQuotaFault(fault);
}

}  // namespace

MakePlan PlanMake(const std::vector<std::string>& machines, const GcpNames& names,
                  const GroupView& view, const PoolMemory& memory,
                  const std::set<std::string>& asked) {
  MakePlan plan;
  const Looker looker = LookerOf(view);
  std::set<std::string> seen;
  for (const std::string& machine : machines) {
    if (!seen.insert(machine).second) continue;
    const auto instance = names.InstanceOf(machine);
    if (!instance) {
      Refuse(plan, machine, {"no machine of this pool can be called '" + machine + "'", ""});
      continue;
    }
    const auto known = memory.machines.find(machine);
    const bool has_ended = known != memory.machines.end() && known->second.ended.has_value();
    if (has_ended || looker.there.contains(*instance)) continue;
    const auto found = looker.managed.find(*instance);
    if (found == looker.managed.end()) {
      if (!asked.contains(*instance)) plan.create.push_back(*instance);
      plan.is_settled = false;
    } else if (found->second->fault && found->second->action != "DELETING") {
      Refuse(plan, machine, *found->second->fault);
      plan.failed.push_back(*instance);
    } else {
      plan.is_settled = false;
    }
  }
  return plan;
}

}  // namespace tidemill
