// SPDX-License-Identifier: Apache-2.0
// /v1/agents: what agents say and ask for.
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "server/http/agent_ask.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/chunk_answer.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/agent_json.h"
#include "wire/job_json.h"
#include "wire/pin_json.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kWaitMs = 25'000;

// In its turn: with its token, or as what it has proven to be.
void JoinNow(ApiState& state, Call call, JoinRequest request, std::optional<ProvenMachine> proven) {
  state.agents.Pass<Joined>(
      call.request.peer,
      [&state, request = std::move(request), proven = std::move(proven)](Reply<Joined> done) {
        Reply<Joined> told = [&state, machine = request.machine, address = request.address,
                              token = request.join_token,
                              done = std::move(done)](Result<Joined> joined) {
          if (joined && !token.empty()) state.guard.NoteGood(token);
          if (!joined && joined.error().code == Code::kNobody) {
            if (!token.empty()) state.guard.NoteWrongJoin(token, address);
            state.log.Warn("join.refused", {{"machine", machine}, {"address", address}});
          }
          done(std::move(joined));
        };
        if (proven) return state.server.JoinProven(request, *proven, std::move(told));
        state.server.Join(request, std::move(told));
      },
      AnswerWith<Joined>(state.log, std::move(call.respond), [](const Joined& joined) {
        return JsonAnswer(FormatJoinAnswer(joined));
      }));
}

void Join(ApiState& state, Call call) {
  auto request = ParseJoinRequest(call.request.body);
  if (call.token.empty() && (!request || !request->proof)) {
    return call.respond(
        ProblemAnswer(Error{Code::kNobody, "this call needs a join token, or a proof"}));
  }
  if (!request) return call.respond(ProblemAnswer(request.error()));
  if (!call.token.empty()) {
    const auto may = state.guard.MayJoin(call.token, call.request.address);
    if (!may) return call.respond(ProblemAnswer(ForStrangers(may.error())));
  }
  request->join_token = call.token;
  request->address = call.request.address;
  if (!call.token.empty()) return JoinNow(state, std::move(call), *std::move(request), {});
  const MachineProof proof = *request->proof;
  const auto held = std::make_shared<Call>(std::move(call));
  state.guard.Prove(
      proof, held->request.address,
      [&state, held, request = *std::move(request)](const Result<ProvenMachine>& proven) {
        if (proven) return JoinNow(state, std::move(*held), request, *proven);
        state.log.Warn("join.refused", {{"machine", request.machine},
                                        {"address", request.address},
                                        {"reason", proven.error().reason}});
        held->respond(ProblemAnswer(ForStrangers(proven.error())));
      });
}

// Not through the gate: the exchange has a bound of its own.
void Sync(ApiState& state, Call call) {
  auto request = ParseSyncRequest(call.request.body);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  request->token = call.token;
  request->address = call.request.address;
  const auto answer = AnswerWith<SyncResult>(
      state.log, std::move(call.respond),
      [](const SyncResult& result) { return JsonAnswer(FormatSyncResult(result)); });
  state.server.Sync(*std::move(request),
                    [&state, token = call.token, answer](Result<SyncResult> result) {
                      if (result) state.guard.NoteGood(token);
                      answer(std::move(result));
                    });
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
  const auto begin = [&state, session, over, peer = call.request.peer] {
    if (peer->gone) return false;
    peer->on_gone = [&state, session, over] {
      // If ours is over already, the session may have a new one, which must live on.
      if (!*over) state.server.ForgetWait(session);
    };
    return true;
  };
  state.server.Wait(
      {session, call.token}, request->at_most,
      [over, answer = AnswerWith<bool>(state.log, std::move(call.respond),
                                       [](bool sync_now) {
                                         return JsonAnswer(FormatWaitAnswer(sync_now));
                                       })](Result<bool> sync_now) {
        *over = true;
        answer(std::move(sync_now));
      },
      begin);
}

void FetchJob(ApiState& state, Call call) {
  const auto ask = ReadAgentAsk(state, call);
  if (!ask) return call.respond(ProblemAnswer(ask.error()));
  state.agents.Pass<Job>(
      call.request.peer,
      [&state, ask = *ask](Reply<Job> done) {
        state.server.FetchJob(ask.pass, ask.job, std::move(done));
      },
      AnswerWith<Job>(state.log, std::move(call.respond), [&state](Job job) {
        job.objects = state.options.objects_url;
        return JsonAnswer(FormatJob(job));
      }));
}

void PinImage(ApiState& state, Call call) {
  const auto ask = ReadAgentAsk(state, call);
  if (!ask) return call.respond(ProblemAnswer(ask.error()));
  auto digest = ParsePin(call.request.body);
  if (!digest) return call.respond(ProblemAnswer(digest.error()));
  state.agents.Pass<std::string>(
      call.request.peer,
      [&state, ask = *ask, digest = *std::move(digest)](Reply<std::string> done) {
        state.server.PinImage(ask.pass, ask.job, digest, std::move(done));
      },
      AnswerWith<std::string>(state.log, std::move(call.respond), [](const std::string& counts) {
        return JsonAnswer(FormatPin(counts));
      }));
}

void FetchItems(ApiState& state, Call call) {
  const auto ask = ReadAgentAsk(state, call);
  if (!ask) return call.respond(ProblemAnswer(ask.error()));
  const auto number = ReadChunkNumber(call.names[2]);
  if (!number) return call.respond(ProblemAnswer(number.error()));
  state.agents.Pass<ChunkItems>(
      call.request.peer,
      [&state, pass = ask->pass, key = ChunkKey{ask->job, *number}](Reply<ChunkItems> done) {
        state.server.FetchItems(pass, key, std::move(done));
      },
      AnswerWith<ChunkItems>(state.log, std::move(call.respond), [](ChunkItems& items) {
        return ChunkAnswer(std::move(items), Keep::kForEver);
      }));
}

}  // namespace

void AddAgentRoutes(Router& router, ApiState& state) {
  const auto agent = Needs::kSessionToken;
  router.Post("/v1/agents/sync", agent, {.json_bytes = limits::kSyncBytes},
              [&state](Call call) { Sync(state, std::move(call)); });
  router.Get("/v1/agents/wait", agent, [&state](Call call) { Wait(state, std::move(call)); });
  router.Post("/v1/agents/join", Needs::kJoinToken, {.json_bytes = kJsonBytes},
              [&state](Call call) { Join(state, std::move(call)); });
  router.Get("/v1/agents/{session}/jobs/{job}", agent,
             [&state](Call call) { FetchJob(state, std::move(call)); });
  router.Post("/v1/agents/{session}/jobs/{job}/pin", agent, {.json_bytes = kJsonBytes},
              [&state](Call call) { PinImage(state, std::move(call)); });
  router.Get("/v1/agents/{session}/jobs/{job}/chunks/{chunk}/items", agent,
             [&state](Call call) { FetchItems(state, std::move(call)); });
}

}  // namespace tidemill
