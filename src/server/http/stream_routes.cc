// SPDX-License-Identifier: Apache-2.0
// Into the container of an item that runs: people ask, its agent comes, and both become streams.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/http_stream.h"
#include "server/http/agent_ask.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/stream_json.h"

namespace tidemill {
namespace {

constexpr Needs kNeeds = Needs::kSubmitter;

Result<std::int64_t> ReadItem(const Call& call) {
  const auto item = ParseNumber(call.names[1]);
  if (!item) return Fail(Code::kNotFound, "there is no item '" + call.names[1] + "'");
  return *item;
}

// A token may be revoked, expire or lose its role while a shell is open.
StreamPerson PersonOf(ApiState& state, const Call& call) {
  const auto may_stay = [&state, token = call.token](const std::function<void(bool)>& told) {
    state.people.Pass<Caller>(
        std::make_shared<HttpPeer>(),
        [&state, token](Reply<Caller> done) {
          OnAccess(
              state.server.deps(), [token](AccessStore& store) { return store.FindCaller(token); },
              [done = std::move(done)](Result<Caller> caller) { done(std::move(caller)); });
        },
        [told](const Result<Caller>& caller) {
          // What else goes wrong is the database's, and ends nobody's work.
          if (!caller) return told(caller.error().code != Code::kNobody);
          told(Suffices(*caller, kNeeds));
        });
  };
  return {call.caller.name, may_stay};
}

void Open(ApiState& state, JobId job, const StreamAsk& ask, Call call) {
  const auto item = ReadItem(call);
  if (!item) return call.respond(ProblemAnswer(item.error()));
  if (!WantsStream(call.request)) {
    HttpResponse response =
        ProblemAnswer(426, "this becomes a stream: ask with 'Connection: upgrade' and 'Upgrade: " +
                               std::string(kStreamProtocol) + "', as 'tidemill shell' does");
    response.headers.emplace_back("Upgrade", kStreamProtocol);
    return call.respond(std::move(response));
  }
  if (state.stopping) {
    return call.respond(
        ProblemAnswer(Error{Code::kUnavailable, "this server is stopping; try another one"}));
  }
  if (state.streams.full()) {
    return call.respond(
        ProblemAnswer(Error{Code::kExhausted, "too many streams are open on this server"}));
  }
  const StreamPerson person = PersonOf(state, call);
  const auto peer = call.request.peer;
  state.people.Pass<AskedStream>(
      peer,
      [&state, job, item = *item, ask = FormatStreamAsk(ask)](Reply<AskedStream> done) {
        state.server.AskStream(job, item, ask, std::move(done));
      },
      [&state, person, peer, respond = std::move(call.respond)](const Result<AskedStream>& asked) {
        if (asked) return state.streams.Wait(*asked, person, peer, respond);
        AnswerWith<AskedStream>(state.log, respond,
                                [](const AskedStream&) { return HttpResponse{}; })(asked);
      });
}

void OpenShell(ApiState& state, JobId job, Call call) {
  const auto ask = ParseStreamAsk(call.request.body);
  if (!ask) return call.respond(ProblemAnswer(ask.error()));
  if (ask->port != 0) {
    return call.respond(ProblemAnswer(
        Error{Code::kInvalid, "port: is not for a program; ask at .../ports/{port}"}));
  }
  Open(state, job, *ask, std::move(call));
}

void OpenPort(ApiState& state, JobId job, Call call) {
  const auto port = ParseNumber(call.names[2]);
  if (!port || *port < 1 || *port > 65'535) {
    return call.respond(
        ProblemAnswer(Error{Code::kInvalid, "the port must be a number from 1 to 65535"}));
  }
  Open(state, job, StreamAsk{.port = static_cast<std::uint16_t>(*port)}, std::move(call));
}

struct AgentStream {
  SessionPass pass;
  StreamId stream;
};

Result<AgentStream> ReadAgentStream(const Call& call) {
  AgentStream read;
  TIDEMILL_TRY(read.pass.session, ReadSession(&call.names[0]));
  read.pass.token = call.token;
  const auto stream = ParseId<StreamId>(call.names[1]);
  if (!stream) return Fail(Code::kInvalid, "stream: must be a UUID");
  read.stream = *stream;
  return read;
}

// Goes on once the pass is known to be good.
void WithPass(ApiState& state, const SessionPass& pass, Call call,
              std::function<void(const HttpRespond&)> go_on) {
  state.agents.Pass<Session>(
      call.request.peer,
      [&state, pass](Reply<Session> done) {
        OnStore(
            state.server.deps(),
            [pass, life = state.server.limits().session_token_life](Store& store) {
              return store.CheckPass(pass, life, std::nullopt);
            },
            [done = std::move(done)](Result<Session> session) { done(std::move(session)); });
      },
      [&state, go_on = std::move(go_on),
       respond = std::move(call.respond)](const Result<Session>& session) {
        if (session) return go_on(respond);
        AnswerWith<Session>(state.log, respond,
                            [](const Session&) { return HttpResponse{}; })(session);
      });
}

HttpResponse NobodyWaits() {
  return ProblemAnswer(Error{Code::kNotFound, "nobody waits for this stream on this server"});
}

void Carry(ApiState& state, Call call) {
  const auto read = ReadAgentStream(call);
  if (!read) return call.respond(ProblemAnswer(read.error()));
  const bool wants = WantsStream(call.request);
  WithPass(state, read->pass, std::move(call),
           [&state, read = *read, wants](const HttpRespond& respond) {
             if (wants && state.streams.Meet(read.pass.session, read.stream, respond)) return;
             respond(NobodyWaits());
           });
}

void Refuse(ApiState& state, Call call) {
  const auto read = ReadAgentStream(call);
  if (!read) return call.respond(ProblemAnswer(read.error()));
  auto reason = ParseRefusal(call.request.body);
  if (!reason) return call.respond(ProblemAnswer(reason.error()));
  WithPass(state, read->pass, std::move(call),
           [&state, read = *read, reason = *std::move(reason)](const HttpRespond& respond) {
             const bool told = state.streams.Refuse(read.pass.session, read.stream, reason);
             respond(told ? HttpResponse{.status = 204} : NobodyWaits());
           });
}

}  // namespace

void AddStreamRoutes(Router& router, ApiState& state) {
  const Body json{.json_bytes = kJsonBytes};
  router.Post("/v1/jobs/{job}/items/{item}/shell", kNeeds, json, WithJob(state, OpenShell));
  router.Post("/v1/jobs/{job}/items/{item}/ports/{port}", kNeeds, {}, WithJob(state, OpenPort));
  router.Post("/v1/agents/{session}/streams/{stream}", Needs::kSessionToken, {},
              [&state](Call call) { Carry(state, std::move(call)); });
  router.Post("/v1/agents/{session}/streams/{stream}/refusal", Needs::kSessionToken, json,
              [&state](Call call) { Refuse(state, std::move(call)); });
}

}  // namespace tidemill
