// SPDX-License-Identifier: Apache-2.0
// The keys of a job's role for an agent that holds a lease of it.
#include <string>
#include <utility>

#include "server/http/agent_ask.h"
#include "server/http/ask_access.h"
#include "server/http/job_wishes.h"
#include "wire/role_json.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

// Asked each time: a role that was taken from a project is gone for its jobs when their keys end.
// The audit has it before the keys leave us.
Result<RoleAsk> FindRole(Store& store, AccessStore& access, const AgentAsk& ask) {
  TIDEMILL_TRY(const Session session, store.CheckPass(ask.pass, ask.token_life, ask.job));
  TIDEMILL_TRY(const Job job, store.FindJob(ask.job));
  TIDEMILL_TRY(const ParsedSpec spec, ParseSpec(job.spec.document));
  if (spec.run.role.empty()) return Fail(Code::kNotFound, "the job has no role");
  TIDEMILL_TRY_VOID(MayHaveRole(access, job.project, spec.run.role));
  TIDEMILL_TRY_VOID(access.Record({.project = job.project,
                                   .who = session.machine,
                                   .token = ToString(session.id),
                                   .address = ask.address,
                                   .action = "GET /v1/agents/{session}/jobs/{job}/role",
                                   .target = PublicId(job) + " " + spec.run.role}));
  return RoleAsk{job.project, PublicId(job), spec.run.role};
}

HttpResponse KeysAnswer(const RoleKeys& keys) {
  HttpResponse response = JsonAnswer(FormatRoleKeys(keys));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

// The cloud is asked outside the gate: it may be slow, and others must not wait for it.
void FetchForAgent(ApiState& state, Call call) {
  const auto ask = ReadAgentAsk(state, call);
  if (!ask) return call.respond(ProblemAnswer(ask.error()));
  RoleKeeper* const roles = state.server.deps().roles;
  if (roles == nullptr) {
    return call.respond(ProblemAnswer(Error{Code::kNotFound, "this server has no roles to give"}));
  }
  auto answer = AnswerWith<RoleKeys>(state.log, std::move(call.respond), KeysAnswer);
  state.agents.Pass<RoleAsk>(
      call.request.peer,
      [&state, ask = *ask](Reply<RoleAsk> done) {
        OnStore(
            state.server.deps(),
            [&access = state.server.deps().access, ask](Store& store) {
              return FindRole(store, access, ask);
            },
            [done = std::move(done)](Result<RoleAsk> found) { done(std::move(found)); });
      },
      [roles, answer = std::move(answer)](const Result<RoleAsk>& found) {
        if (!found) return answer(tl::unexpected(found.error()));
        roles->Keys(*found, answer);
      });
}

}  // namespace

void AddRoleRoutes(Router& router, ApiState& state) {
  router.Get("/v1/agents/{session}/jobs/{job}/role", Needs::kSessionToken,
             [&state](Call call) { FetchForAgent(state, std::move(call)); });
}

}  // namespace tidemill
