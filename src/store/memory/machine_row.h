// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/snapshot.h"

namespace tidemill {

// What is kept of a machine; see PlanMachine.
struct MachineRow {
  std::string name;
  MachineState state = MachineState::kOrdered;
  TimePoint since{};
  Money price = {};
  TimePoint billed_from{};  // 1970: its provider has not shown it yet
  TimePoint put_down_until{};
  std::optional<TimePoint> joined = {};
  std::optional<TimePoint> idle_since = {};
  std::optional<TimePoint> missing_since = {};  // its provider does not list it
  bool ordered = false;
  bool ending = false;
  SessionId session = {};  // the last one
  std::string provider_id = {};
  bool IsLeaving() const {
    return state == MachineState::kDraining || (ending && state != MachineState::kGone);
  }
  // The leader is shown it: there, or gone and not put down to its end.
  bool IsShown() const { return state != MachineState::kGone || put_down_until < since; }
};
// What only the leader writes of a pool.
struct PoolMarks {
  ProviderWord word;
  std::int64_t next_number = 0;
  std::int32_t never_joined = 0;
  TimePoint never_joined_at{};  // the last of them ended
};

}  // namespace tidemill
