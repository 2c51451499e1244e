// SPDX-License-Identifier: Apache-2.0
// /v1/agents: join, sync, wait, drain.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/agent_json.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

// A session survives a few lost heartbeats.
constexpr milliseconds kHeartbeat{10'000};
constexpr int kHeartbeatsPerSession = 6;
constexpr std::int64_t kWaitMs = 25'000;

Result<Joined> JoinedOf(const Session& session, Duration session_life) {
  if (session.state == SessionState::kDead) {
    return Fail(Code::kLost, "this session has ended; join with a new one");
  }
  return Joined{session.id, session.state,
                std::min<Duration>(kHeartbeat, session_life / kHeartbeatsPerSession), session_life};
}

void Join(ApiState& state, Call call) {
  auto request = ParseJoinRequest(call.request.body);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  state.agents.Pass<Session>(
      call.request.peer,
      [&state, request = *std::move(request)](Reply<Session> done) {
        state.server.Join(request, std::move(done));
      },
      AnswerWith<Session>(state.log, std::move(call.respond), [&state](const Session& session) {
        const auto answer = JoinedOf(session, state.options.session_life);
        return answer ? JsonAnswer(FormatJoinAnswer(*answer)) : ProblemAnswer(answer.error());
      }));
}

// Not through the gate: the exchange has a bound of its own.
void Sync(ApiState& state, Call call) {
  auto request = ParseSyncRequest(call.request.body);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  state.server.Sync(
      *std::move(request),
      AnswerWith<SyncResult>(state.log, std::move(call.respond), [](const SyncResult& result) {
        return JsonAnswer(FormatSyncResult(result));
      }));
}

Result<SessionId> ReadSession(const std::string* text) {
  const auto session = text == nullptr ? std::nullopt : ParseId<SessionId>(*text);
  if (!session) return Fail(Code::kInvalid, "session: must be a UUID");
  return *session;
}

struct WaitRequest {
  SessionId session;
  Duration at_most{};
};

Result<WaitRequest> ReadWait(const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"session", "wait_ms"}));
  WaitRequest request;
  TIDEMILL_TRY(request.session, ReadSession(query.Find("session")));
  TIDEMILL_TRY(const std::int64_t wait_ms,
               query.Int("wait_ms", {.least = 0, .most = 60'000, .absent = kWaitMs}));
  request.at_most = milliseconds(wait_ms);
  return request;
}

void Wait(ApiState& state, Call call) {
  const auto request = ReadWait(call.request.query);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  if (state.stopping) {
    return call.respond(
        ProblemAnswer(Error{Code::kUnavailable, "this server is stopping; try another one"}));
  }
  // Shared by the answer and by the end of the connection, whichever comes first.
  const auto over = std::make_shared<bool>(false);
  const SessionId session = request->session;
  call.request.peer->on_gone = [&state, session, over] {
    // If ours is over already, the session may have a new one, which must live on.
    if (!*over) state.server.ForgetWait(session);
  };
  state.server.Wait(
      session, request->at_most,
      [over, answer = AnswerWith<bool>(state.log, std::move(call.respond), [](bool sync_now) {
               return JsonAnswer(FormatWaitAnswer(sync_now));
             })](Result<bool> sync_now) {
        *over = true;
        answer(std::move(sync_now));
      });
}

void Drain(ApiState& state, Call call) {
  const auto session = ReadSession(&call.names[0]);
  if (!session) return call.respond(ProblemAnswer(session.error()));
  state.agents.Pass<void>(
      call.request.peer,
      [&state, session = *session](Reply<void> done) {
        state.server.Drain(session, std::move(done));
      },
      AnswerWith<void>(state.log, std::move(call.respond),
                       [] { return HttpResponse{.status = 204}; }));
}

}  // namespace

void AddAgentRoutes(Router& router, ApiState& state) {
  router.Post("/v1/agents/sync", {.json_bytes = limits::kSyncBytes},
              [&state](Call call) { Sync(state, std::move(call)); });
  router.Get("/v1/agents/wait", [&state](Call call) { Wait(state, std::move(call)); });
  router.Post("/v1/agents/join", {.json_bytes = kJsonBytes},
              [&state](Call call) { Join(state, std::move(call)); });
  router.Post("/v1/agents/{session}/drain", {.json_bytes = kJsonBytes, .may_be_absent = true},
              [&state](Call call) { Drain(state, std::move(call)); });
}

}  // namespace tidemill
