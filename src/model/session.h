// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/loop.h"
#include "model/ids.h"
#include "model/job.h"

namespace tidemill {

// alive ──drain──▶ draining ──┐
//   └──left, or reaped───────▶ dead
//
// A session never leaves `dead`: its agent joins anew. Passing its expiry makes a session reapable;
// only the reaper's commit makes it dead, so a late agent that nobody has reaped goes on.
enum class SessionState : std::int16_t { kAlive = 0, kDraining = 1, kDead = 2 };

struct NewSession {
  SessionId id;  // made by the agent, so that the call may be repeated
  std::string machine;
  std::string pool;
  Resources shape;
  Duration life{};  // without a sync for this long it may be reaped
};

struct Session {
  SessionId id;
  std::string machine;
  std::string pool;
  Resources shape;
  SessionState state = SessionState::kAlive;
  bool operator==(const Session&) const = default;
};

}  // namespace tidemill
