// SPDX-License-Identifier: Apache-2.0
// /v1/queues
#include <string>
#include <utility>
#include <vector>

#include "server/http/ask_access.h"
#include "server/http/page_asked.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/settings_json.h"

namespace tidemill {
namespace {

HttpResponse QueueAnswer(const Queue& queue) { return JsonAnswer(FormatQueue(queue)); }

void PutQueue(ApiState& state, Call call) {
  const auto name = ReadNameToMake(call);
  if (!name) return call.respond(ProblemAnswer(name.error()));
  const auto queue = ParseQueueBody(call.request.body, *name);
  if (!queue) return call.respond(ProblemAnswer(queue.error()));
  const std::string project = call.project;
  AskSettings<Queue>(
      state, std::move(call),
      [project, queue = *queue](SettingsStore& store) { return store.PutQueue(project, queue); },
      QueueAnswer);
}

void ShowQueue(ApiState& state, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<Queue>(
      state, std::move(call),
      [project, name](SettingsStore& store) { return store.FindQueue(project, name); },
      QueueAnswer);
}

void ListQueues(ApiState& state, Call call) {
  const auto page = ReadPageAsked(call.request.query);
  if (!page) return call.respond(ProblemAnswer(page.error()));
  const std::string project = call.project;
  AskSettings<std::vector<Queue>>(
      state, std::move(call),
      [project, page = *page](SettingsStore& store) {
        return store.ListQueues(project, page.after, page.limit);
      },
      [limit = page->limit](const std::vector<Queue>& queues) {
        return JsonAnswer(FormatQueues(queues, static_cast<int>(queues.size()) == limit));
      });
}

void DropQueue(ApiState& state, Call call) {
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<void>(
      state, std::move(call),
      [project, name](SettingsStore& store) { return store.DropQueue(project, name); },
      [] { return HttpResponse{.status = 204}; });
}

}  // namespace

void AddQueueRoutes(Router& router, ApiState& state) {
  router.Put("/v1/queues/{queue}", Needs::kOperator, {.json_bytes = kJsonBytes},
             [&state](Call call) { PutQueue(state, std::move(call)); });
  router.Delete("/v1/queues/{queue}", Needs::kOperator,
                [&state](Call call) { DropQueue(state, std::move(call)); });
  router.Get("/v1/queues/{queue}", Needs::kViewer,
             [&state](Call call) { ShowQueue(state, std::move(call)); });
  router.Get("/v1/queues", Needs::kViewer,
             [&state](Call call) { ListQueues(state, std::move(call)); });
}

}  // namespace tidemill
