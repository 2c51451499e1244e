// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/exchange.h"
#include "model/session.h"
#include "model/sync.h"

// What agents and servers say to each other, as the bodies of the calls under /v1/agents.
// Fields that a reader does not know are passed over, so that a newer one can be talked to.
namespace tidemill {

// Of the calls of agents; a join names the one that the agent speaks.
inline constexpr int kAgentVersion = 1;

// POST /v1/agents/join
std::string FormatJoinRequest(const JoinRequest& request);
// kInvalid: among others, a version that is not served.
Result<JoinRequest> ParseJoinRequest(std::string_view body);

std::string FormatJoinAnswer(const Joined& answer);
Result<Joined> ParseJoinAnswer(std::string_view body);

// POST /v1/agents/sync
// Of the reasons of troubles what a server would refuse is left out: the rest of the sync counts.
std::string FormatSyncRequest(const SyncRequest& request);
Result<SyncRequest> ParseSyncRequest(std::string_view body);
std::string FormatSyncResult(const SyncResult& result);
// `session` is the one that synced: the leases are its own. `lost` comes as a problem, not here.
Result<SyncResult> ParseSyncResult(std::string_view body, SessionId session);

// GET /v1/agents/wait
std::string FormatWaitAnswer(bool sync_now);
Result<bool> ParseWaitAnswer(std::string_view body);

}  // namespace tidemill
