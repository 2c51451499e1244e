// SPDX-License-Identifier: Apache-2.0
#include "wire/policy_json.h"

#include <array>

#include "wire/volume_json.h"

namespace tidemill::json {
namespace {

struct Demand {
  std::string_view name;
  bool ContainerPolicy::* flag;
};

constexpr std::array kDemands = {
    Demand{"no_capabilities", &ContainerPolicy::no_capabilities},
    Demand{"read_only_root", &ContainerPolicy::read_only_root},
    Demand{"no_network", &ContainerPolicy::no_network},
    Demand{"user_namespace", &ContainerPolicy::user_namespace},
    Demand{"firewall", &ContainerPolicy::firewall},
};

}  // namespace

std::string PolicyText(const ContainerPolicy& policy) {
  std::string out = "{";
  for (const Demand& demand : kDemands) AppendFlag(out, demand.name, policy.*demand.flag);
  if (!policy.volumes.empty()) AppendValue(out, "volumes", VolumesText(policy.volumes));
  return out.append("}");
}

Result<ContainerPolicy> ReadPolicy(const Fields& fields, std::string_view name) {
  ContainerPolicy policy;
  const Value* value = fields.Find(name);
  if (value == nullptr) return policy;
  const Path path = fields.In(name);
  TIDEMILL_TRY(const Fields inner, Fields::Of(*value, path));
  TIDEMILL_TRY_VOID(inner.Only({"no_capabilities", "read_only_root", "no_network", "user_namespace",
                                "firewall", "volumes"}));
  for (const Demand& demand : kDemands) {
    TIDEMILL_TRY(policy.*demand.flag, inner.Flag(demand.name, false));
  }
  TIDEMILL_TRY(policy.volumes, ReadVolumes(inner));
  return policy;
}

}  // namespace tidemill::json
