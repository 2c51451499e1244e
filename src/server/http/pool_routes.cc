// SPDX-License-Identifier: Apache-2.0
// /v1/pools
#include <string>
#include <utility>
#include <vector>

#include "server/http/ask_access.h"
#include "server/http/ask_outlook.h"
#include "server/http/page_asked.h"
#include "server/http/plan_answers.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/access_json.h"
#include "wire/job_json.h"
#include "wire/settings_json.h"

namespace tidemill {
namespace {

HttpResponse PoolAnswer(const PoolSettings& pool) { return JsonAnswer(FormatPool(pool, {})); }

// Reads from the settings with `ask`, and answers with what `format` makes of it and of what is
// going on in the project's pools. Of that nothing is said where nobody plans.
template <typename T, typename Ask, typename Format>
void AskWithNow(ApiState& state, Call call, Ask ask, Format format) {
  using Both = std::pair<T, PoolsNow>;
  state.people.Pass<Both>(
      call.request.peer,
      [&state, ask = std::move(ask), project = call.project](Reply<Both> done) {
        AskOutlook(state, project, [&state, ask, done](const Result<DecidedPtr>& decided) {
          PoolsNow now;
          if (decided && *decided != nullptr) now = PoolsNowOf(**decided);
          OnAccess(
              state.server.deps(),
              [&settings = state.settings, ask](AccessStore&) { return ask(settings); },
              [now = std::move(now), done](Result<T> found) {
                if (!found) return done(tl::unexpected(found.error()));
                done(Both(*std::move(found), now));
              });
        });
      },
      AnswerWith<Both>(state.log, std::move(call.respond),
                       [format = std::move(format)](const Both& both) {
                         return format(both.first, both.second);
                       }));
}

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
  AskWithNow<PoolSettings>(
      state, std::move(call),
      [project, name](SettingsStore& store) { return store.FindPoolSettings(project, name); },
      [](const PoolSettings& pool, const PoolsNow& now) {
        return JsonAnswer(FormatPool(pool, now));
      });
}

void List(ApiState& state, Call call) {
  const auto page = ReadPageAsked(call.request.query);
  if (!page) return call.respond(ProblemAnswer(page.error()));
  const std::string project = call.project;
  AskWithNow<std::vector<PoolSettings>>(
      state, std::move(call),
      [project, page = *page](SettingsStore& store) {
        return store.ListPoolSettings(project, page.after, page.limit);
      },
      [limit = page->limit](const std::vector<PoolSettings>& pools, const PoolsNow& now) {
        return JsonAnswer(FormatPools(pools, now, static_cast<int>(pools.size()) == limit));
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

// Machines that never joined are forgotten: some may be ordered again.
void Forgive(ApiState& state, Call call) {
  if (auto nothing = ParseNothing(call.request.body); !nothing) {
    return call.respond(ProblemAnswer(nothing.error()));
  }
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<void>(
      state, std::move(call),
      [plans = state.server.deps().plans, project, name](SettingsStore& store) -> Result<void> {
        TIDEMILL_TRY_VOID(store.FindPoolSettings(project, name));
        if (plans == nullptr) {
          return Fail(Code::kUnavailable, "this server does not plan: it orders no machines");
        }
        return plans->ForgiveNeverJoined(project, name);
      },
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
  router.Post("/v1/pools/{pool}/forgive", Needs::kOperator,
              {.json_bytes = kJsonBytes, .may_be_absent = true},
              [&state](Call call) { Forgive(state, std::move(call)); });
  router.Get("/v1/pools/{pool}", Needs::kViewer,
             [&state](Call call) { Show(state, std::move(call)); });
  router.Get("/v1/pools", Needs::kViewer, [&state](Call call) { List(state, std::move(call)); });
}

}  // namespace tidemill
