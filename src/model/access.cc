// SPDX-License-Identifier: Apache-2.0
#include "model/access.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tidemill {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 4> kRoles = {{
    {Role::kViewer, "viewer"},
    {Role::kSubmitter, "submitter"},
    {Role::kOperator, "operator"},
    {Role::kAdmin, "admin"},
}};

}  // namespace

std::string_view RoleName(Role role) { return kRoles[static_cast<std::size_t>(role)].second; }

std::optional<Role> ParseRole(std::string_view name) {
  const auto* found = std::find_if(kRoles.begin(), kRoles.end(),
                                   [name](const auto& role) { return role.second == name; });
  if (found == kRoles.end()) return std::nullopt;
  return found->first;
}

}  // namespace tidemill
