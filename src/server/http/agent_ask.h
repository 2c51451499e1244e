// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/session.h"
#include "server/http/api.h"
#include "server/http/router.h"

namespace tidemill {

// Which agent asks, and about which job: from a path /v1/agents/{session}/jobs/{job}...
struct AgentAsk {
  SessionPass pass;
  JobId job;
  Duration token_life{};
  std::string address;
};

Result<SessionId> ReadSession(const std::string* text);
Result<AgentAsk> ReadAgentAsk(const ApiState& state, const Call& call);

}  // namespace tidemill
