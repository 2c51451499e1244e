// SPDX-License-Identifier: Apache-2.0
// /v1/pools
#include <string>
#include <utility>
#include <vector>

#include "server/http/ask_access.h"
#include "server/http/page_asked.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/access_json.h"
#include "wire/settings_json.h"

namespace tidemill {
namespace {

HttpResponse PoolAnswer(const PoolSettings& pool) { return JsonAnswer(FormatPool(pool)); }

void Put(ApiState& state, Call call) {
  const auto name = ReadNameToMake(call);
  if (!name) return call.respond(ProblemAnswer(name.error()));
  const auto policy = ParsePoolPolicy(call.request.body);
  if (!policy) return call.respond(ProblemAnswer(policy.error()));
  const Pool pool{call.project, *name, *policy};
  AskAccess<PoolSettings>(
      state, std::move(call),
      [pool, &settings = state.settings](AccessStore& access) -> Result<PoolSettings> {
        TIDEMILL_TRY_VOID(access.PutPool(pool));
        return settings.FindPoolSettings(pool.project, pool.name);
      },
      PoolAnswer);
}

void SetMachines(ApiState& state, Call call) {
  const auto machines = ParsePoolMachines(call.request.body);
  if (!machines) return call.respond(ProblemAnswer(machines.error()));
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<PoolSettings>(
      state, std::move(call),
      [project, name, machines = *machines](SettingsStore& store) {
        return store.SetMachines(project, name, machines);
      },
      PoolAnswer);
}

void Show(ApiState& state, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<PoolSettings>(
      state, std::move(call),
      [project, name](SettingsStore& store) { return store.FindPoolSettings(project, name); },
      PoolAnswer);
}

void List(ApiState& state, Call call) {
  const auto page = ReadPageAsked(call.request.query);
  if (!page) return call.respond(ProblemAnswer(page.error()));
  const std::string project = call.project;
  AskSettings<std::vector<PoolSettings>>(
      state, std::move(call),
      [project, page = *page](SettingsStore& store) {
        return store.ListPoolSettings(project, page.after, page.limit);
      },
      [limit = page->limit](const std::vector<PoolSettings>& pools) {
        return JsonAnswer(FormatPools(pools, static_cast<int>(pools.size()) == limit));
      });
}

void Drop(ApiState& state, Call call) {
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<void>(
      state, std::move(call),
      [project, name](SettingsStore& store) { return store.DropPool(project, name); },
      [] { return HttpResponse{.status = 204}; });
}

}  // namespace

// Only an admin makes or removes a pool: one without demands would be a way around those of others.
void AddPoolRoutes(Router& router, ApiState& state) {
  router.Put("/v1/pools/{pool}", Needs::kAdmin, {.json_bytes = kJsonBytes, .may_be_absent = true},
             [&state](Call call) { Put(state, std::move(call)); });
  router.Delete("/v1/pools/{pool}", Needs::kAdmin,
                [&state](Call call) { Drop(state, std::move(call)); });
  router.Put("/v1/pools/{pool}/machines", Needs::kOperator, {.json_bytes = kJsonBytes},
             [&state](Call call) { SetMachines(state, std::move(call)); });
  router.Get("/v1/pools/{pool}", Needs::kViewer,
             [&state](Call call) { Show(state, std::move(call)); });
  router.Get("/v1/pools", Needs::kViewer, [&state](Call call) { List(state, std::move(call)); });
}

}  // namespace tidemill
