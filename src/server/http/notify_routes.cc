// SPDX-License-Identifier: Apache-2.0
// Who was told of a job, and what became of it.
#include <utility>
#include <vector>

#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "store/notify_store.h"
#include "wire/notify_json.h"

namespace tidemill {
namespace {

using Notifications = std::vector<Notification>;

void ListNotifications(ApiState& state, JobId job, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  state.people.Pass<Notifications>(
      call.request.peer,
      [&state, job](Reply<Notifications> done) {
        OnStore(
            state.server.deps(),
            [notify = state.options.notify, job](Store&) -> Result<Notifications> {
              if (notify == nullptr) return Notifications();
              return notify->ListNotifications(job);
            },
            [done](Result<Notifications> all) { done(std::move(all)); });
      },
      AnswerWith<Notifications>(state.log, std::move(call.respond), [](const Notifications& all) {
        return JsonAnswer(FormatNotifications(all));
      }));
}

}  // namespace

void AddNotifyRoutes(Router& router, ApiState& state) {
  router.Get("/v1/jobs/{job}/notifications", Needs::kViewer, WithJob(state, ListNotifications));
}

}  // namespace tidemill
