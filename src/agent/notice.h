// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "agent/deps.h"
#include "base/loop.h"
#include "model/notice.h"

namespace tidemill {

// What each part of an agent's leaving may take at most.
struct LeaveTimes {
  Duration grace{};  // for items to end after SIGTERM
  Duration save{};   // then, for their last checkpoints
  Duration say{};    // then, for the last sync
  bool operator==(const LeaveTimes&) const = default;
};

struct LeavePlan {
  TimePoint stop_at = TimePoint::max();  // what runs is ended then; max: never
  LeaveTimes times = {};
  bool operator==(const LeavePlan&) const = default;
};

// When nobody is known to wait.
LeaveTimes TimesToLeave(const AgentLimits& limits);

// What is done with what runs when a notice comes `now`. Items have ended and are saved before the
// notice's time, or at once if that has passed, and the last sync is sent.
LeavePlan PlanLeave(const Notice& notice, TimePoint now, const AgentLimits& limits);

// For people.
std::string_view NameOf(Notice::Kind kind);

}  // namespace tidemill
