// SPDX-License-Identifier: Apache-2.0
// /v1/secrets, and the secrets of a job for an agent that holds a lease of it.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/seal.h"
#include "server/http/agent_ask.h"
#include "server/http/ask_access.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "server/secrets.h"
#include "wire/access_json.h"
#include "wire/secret_json.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

void PutSecret(ApiState& state, Call call) {
  const std::string name = call.names[0];
  if (!IsName(name) || name.size() > limits::kNameBytes) {
    return call.respond(ProblemAnswer(
        Error{Code::kInvalid, "the secret's name: letters, digits, '.', '_' and '-'"}));
  }
  const auto value = ParseSecretValue(call.request.body);
  if (!value) return call.respond(ProblemAnswer(value.error()));
  if (!state.options.keys) return call.respond(ProblemAnswer(NoSecretKeys().value()));
  const std::string project = call.project;
  const std::string sealed =
      Seal(state.options.keys->first(), *value, SecretContext(project, name));
  const std::string by = call.caller.name;
  AskAccess<void>(
      state, std::move(call),
      [project, name, sealed, by](AccessStore& store) {
        return store.PutSecret(project, name, sealed, by);
      },
      [] { return HttpResponse{.status = 204}; });
}

void ListSecrets(ApiState& state, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  const std::string project = call.project;
  AskAccess<std::vector<SecretInfo>>(
      state, std::move(call), [project](AccessStore& store) { return store.ListSecrets(project); },
      [](const std::vector<SecretInfo>& secrets) { return JsonAnswer(FormatSecrets(secrets)); });
}

void DropSecret(ApiState& state, Call call) {
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskAccess<void>(
      state, std::move(call),
      [project, name](AccessStore& store) { return store.DropSecret(project, name); },
      [] { return HttpResponse{.status = 204}; });
}

// Each once.
std::vector<std::string> NamesOf(const RunSpec& spec) {
  std::set<std::string> names;
  for (const SecretUse& use : spec.secrets) names.insert(use.secret);
  if (!spec.image_login.empty()) names.insert(spec.image_login);
  return {names.begin(), names.end()};
}

// The audit has it before the values leave us.
Result<Secrets> Fetch(Store& store, AccessStore& access, const KeyRing& keys, const AgentAsk& ask) {
  TIDEMILL_TRY(const Session session, store.CheckPass(ask.pass, ask.token_life, ask.job));
  TIDEMILL_TRY(const Job job, store.FindJob(ask.job));
  TIDEMILL_TRY(const ParsedSpec spec, ParseSpec(job.spec.document));
  const std::vector<std::string> names = NamesOf(spec.run);
  if (names.empty()) return Secrets{};
  TIDEMILL_TRY(Secrets secrets, OpenSecrets(access, keys, session.project, names));
  TIDEMILL_TRY_VOID(access.Record({.project = session.project,
                                   .who = session.machine,
                                   .token = ToString(session.id),
                                   .address = ask.address,
                                   .action = "GET /v1/agents/{session}/jobs/{job}/secrets",
                                   .target = PublicId(job)}));
  return secrets;
}

void FetchSecretForAgent(ApiState& state, Call call) {
  const auto ask = ReadAgentAsk(state, call);
  if (!ask) return call.respond(ProblemAnswer(ask.error()));
  if (!state.options.keys) {
    return call.respond(ProblemAnswer(Error{Code::kNotFound, NoSecretKeys().value().reason}));
  }
  state.agents.Pass<Secrets>(
      call.request.peer,
      [&state, ask = *ask](Reply<Secrets> done) {
        OnStore(
            state.server.deps(),
            [&access = state.server.deps().access, keys = state.options.keys, ask](Store& store) {
              return Fetch(store, access, *keys, ask);
            },
            [done = std::move(done)](Result<Secrets> secrets) { done(std::move(secrets)); });
      },
      AnswerWith<Secrets>(state.log, std::move(call.respond), [](const Secrets& secrets) {
        HttpResponse response = JsonAnswer(FormatSecretValues(secrets));
        response.headers.emplace_back("Cache-Control", "no-store");
        return response;
      }));
}

}  // namespace

void AddSecretRoutes(Router& router, ApiState& state) {
  router.Put("/v1/secrets/{secret}", Needs::kOperator, {.json_bytes = kJsonBytes},
             [&state](Call call) { PutSecret(state, std::move(call)); });
  router.Get("/v1/secrets", Needs::kSubmitter,
             [&state](Call call) { ListSecrets(state, std::move(call)); });
  router.Delete("/v1/secrets/{secret}", Needs::kOperator,
                [&state](Call call) { DropSecret(state, std::move(call)); });
  router.Get("/v1/agents/{session}/jobs/{job}/secrets", Needs::kSessionToken,
             [&state](Call call) { FetchSecretForAgent(state, std::move(call)); });
}

}  // namespace tidemill
