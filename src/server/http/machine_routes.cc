// SPDX-License-Identifier: Apache-2.0
// The machines whose agents are there.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/query.h"
#include "wire/machine_json.h"

namespace tidemill {
namespace {

constexpr int kSomeMachines = 100;

struct MachinesRequest {
  SessionId after;
  int limit = 0;
};

Result<MachinesRequest> ReadRequest(const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"after", "limit"}));
  MachinesRequest request;
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

void List(ApiState& state, Call call) {
  using Machines = std::vector<ListedMachine>;
  const auto request = ReadRequest(call.request.query);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  state.people.Pass<Machines>(
      call.request.peer,
      [&state, request = *request](Reply<Machines> done) {
        state.server.jobs().Machines(request.after, request.limit, std::move(done));
      },
      AnswerWith<Machines>(
          state.log, std::move(call.respond), [limit = request->limit](const Machines& machines) {
            return JsonAnswer(FormatMachines(machines, static_cast<int>(machines.size()) == limit));
          }));
}

}  // namespace

void AddMachineRoutes(Router& router, ApiState& state) {
  router.Get("/v1/machines", [&state](Call call) { List(state, std::move(call)); });
}

}  // namespace tidemill
