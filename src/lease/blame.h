// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace tidemill {

// A machine that lives, and what speaks against it.
struct MachineRecord {
  SessionId session;
  std::string pool;           // of all pools of all projects
  std::int64_t attempts = 0;  // that it has settled
  std::int64_t blamed = 0;    // items that failed there and succeeded elsewhere
  bool aside = false;
};

// Which machines should get no more items, because they fail what succeeds elsewhere: a few items
// or a small part of many are chance. Of a pool never more than a quarter, or one: if most machines
// look bad, it is not the machines. The worst first.
std::vector<MachineRecord> ToPutAside(std::vector<MachineRecord> records);

// What people are told.
std::string AsideReason(const MachineRecord& record);

}  // namespace tidemill
