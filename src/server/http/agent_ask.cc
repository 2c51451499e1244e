// SPDX-License-Identifier: Apache-2.0
#include "server/http/agent_ask.h"

#include <optional>

#include "server/http/query.h"

namespace tidemill {

Result<SessionId> ReadSession(const std::string* text) {
  const auto session = text == nullptr ? std::nullopt : ParseId<SessionId>(*text);
  if (!session) return Fail(Code::kInvalid, "session: must be a UUID");
  return *session;
}

Result<AgentAsk> ReadAgentAsk(const ApiState& state, const Call& call) {
  AgentAsk ask;
  TIDEMILL_TRY(ask.pass.session, ReadSession(&call.names[0]));
  ask.pass.token = call.token;
  const auto number = ParseNumber(call.names[1]);
  // Not 0, which would ask the store for no lease at all.
  if (!number || *number < 1) return Fail(Code::kInvalid, "the job's number: counted from 1");
  ask.job = JobId{*number};
  ask.token_life = state.server.limits().session_token_life;
  ask.address = call.request.address;
  return ask;
}

}  // namespace tidemill
