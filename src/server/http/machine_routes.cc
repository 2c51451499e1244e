// SPDX-License-Identifier: Apache-2.0
// The machines whose agents are there.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/machine_json.h"

namespace tidemill {
namespace {

constexpr int kSomeMachines = 100;

Result<MachineFilter> ReadFilter(const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"after", "limit"}));
  MachineFilter request;
  if (const std::string* text = query.Find("after")) {
    const auto after = ParseId<SessionId>(*text);
    if (!after) return Fail(Code::kInvalid, "after: must be the 'next' of the page before");
    request.after = *after;
  }
  TIDEMILL_TRY(
      const std::int64_t limit,
      query.Int("limit", {.least = 1, .most = limits::kPageRows, .absent = kSomeMachines}));
  request.limit = static_cast<int>(limit);
  return request;
}

void ListMachines(ApiState& state, Call call) {
  using Machines = std::vector<ListedMachine>;
  auto request = ReadFilter(call.request.query);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  request->project = call.project;
  state.people.Pass<Machines>(
      call.request.peer,
      [&state, request = *request](Reply<Machines> done) {
        state.server.jobs().Machines(request, std::move(done));
      },
      AnswerWith<Machines>(
          state.log, std::move(call.respond), [limit = request->limit](const Machines& machines) {
            return JsonAnswer(FormatMachines(machines, static_cast<int>(machines.size()) == limit));
          }));
}

void DrainOne(ApiState& state, Call call) {
  const auto session = ParseId<SessionId>(call.names[0]);
  if (!session) return call.respond(ProblemAnswer(404, "a machine is known by its session"));
  state.people.Pass<void>(
      call.request.peer,
      [&state, session = *session, project = call.project](Reply<void> done) {
        state.server.Drain(session, project, [done = std::move(done)](Result<void> drained) {
          const bool gone = !drained && drained.error().code == Code::kLost;
          done(gone ? Fail(Code::kNotFound, "there is no such machine") : std::move(drained));
        });
      },
      AnswerWith<void>(state.log, std::move(call.respond),
                       [] { return HttpResponse{.status = 204}; }));
}

}  // namespace

void AddMachineRoutes(Router& router, ApiState& state) {
  router.Get("/v1/machines", Needs::kViewer,
             [&state](Call call) { ListMachines(state, std::move(call)); });
  router.Post("/v1/machines/{session}/drain", Needs::kOperator,
              {.json_bytes = kJsonBytes, .may_be_absent = true},
              [&state](Call call) { DrainOne(state, std::move(call)); });
}

}  // namespace tidemill
