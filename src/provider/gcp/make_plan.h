// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "provider/gcp/sight.h"

namespace tidemill {

// What is to be done for an order, as far as a look at the group shows. Pure.
struct MakePlan {
  std::vector<std::string> create = {};   // instances that the group is to make now
  std::vector<std::string> refused = {};  // machines that it could not make
  std::vector<std::string> failed = {};   // their instances, which it would go on to try
  std::string words = {};                 // why, in Google's words
  bool is_quota = false;
  bool is_settled = true;  // nothing is to be waited for
};

// `asked`: instances that the group was asked for already on behalf of this order.
MakePlan PlanMake(const std::vector<std::string>& machines, const GcpNames& names,
                  const GroupView& view, const PoolMemory& memory,
                  const std::set<std::string>& asked);

}  // namespace tidemill
