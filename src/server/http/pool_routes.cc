// SPDX-License-Identifier: Apache-2.0
// /v1/pools
#include <functional>
#include <memory>
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

void PutPool(ApiState& state, Call call) {
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

Provider* ProviderOf(const ApiState& state, const PoolMachines& machines) {
  const auto& providers = state.server.deps().providers;
  const auto found = providers.find(machines.provider);
  return found == providers.end() ? nullptr : found->second;
}

// What keeps a provider from it, as whoever sets the pool must hear it: that the server may not, or
// has no credentials, does not mean that the caller must sign in.
Error OfProvider(const PoolMachines& machines, Error error) {
  if (error.code == Code::kInvalid) return error;
  const bool is_refused = error.code == Code::kNobody || error.code == Code::kForbidden;
  if (is_refused) error.code = Code::kInvalid;
  error.reason = "the server cannot have machines of " + machines.provider + ": " + error.reason;
  return error;
}

// Goes on with the pool as it stands.
void WithPool(ApiState& state, const std::shared_ptr<Call>& call,
              std::function<void(const PoolSettings&)> then) {
  const std::string project = call->project;
  const std::string name = call->names[0];
  state.people.Pass<PoolSettings>(
      call->request.peer,
      [&state, project, name](Reply<PoolSettings> done) {
        OnAccess(
            state.server.deps(),
            [&settings = state.settings, project, name](AccessStore&) {
              return settings.FindPoolSettings(project, name);
            },
            [done = std::move(done)](Result<PoolSettings> found) { done(std::move(found)); });
      },
      [call, then = std::move(then)](const Result<PoolSettings>& found) {
        if (!found) return call->respond(ProblemAnswer(ForStrangers(found.error())));
        then(*found);
      });
}

void StoreMachines(ApiState& state, const std::shared_ptr<Call>& call,
                   const PoolMachines& machines) {
  const std::string project = call->project;
  const std::string name = call->names[0];
  AskSettings<PoolSettings>(
      state, std::move(*call),
      [project, name, machines](SettingsStore& store) {
        return store.SetMachines(project, name, machines);
      },
      PoolAnswer);
}

// What the machines come from is made first: settings that its provider refuses are not kept. A
// cloud may take its time, so no turn is held meanwhile.
void SetMachines(ApiState& state, Call call) {
  const auto machines = ParsePoolMachines(call.request.body);
  if (!machines) return call.respond(ProblemAnswer(machines.error()));
  const auto held = std::make_shared<Call>(std::move(call));
  Provider* const provider = ProviderOf(state, *machines);
  if (provider == nullptr) return StoreMachines(state, held, *machines);
  WithPool(state, held, [&state, held, provider, machines = *machines](PoolSettings pool) {
    pool.machines = machines;
    provider->Prepare(pool, [&state, held, machines](const Result<void>& prepared) {
      if (!prepared) {
        return held->respond(ProblemAnswer(ForStrangers(OfProvider(machines, prepared.error()))));
      }
      StoreMachines(state, held, machines);
    });
  });
}

void ShowPool(ApiState& state, Call call) {
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

void ListPools(ApiState& state, Call call) {
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

// What the pool's machines came from goes with it, if we have made that.
void DropPool(ApiState& state, Call call) {
  const auto held = std::make_shared<Call>(std::move(call));
  WithPool(state, held, [&state, held](const PoolSettings& pool) {
    const auto respond = held->respond;
    Provider* const provider = ProviderOf(state, pool.machines);
    held->respond = [respond, provider, pool](HttpResponse answer) {
      if (answer.status != 204 || provider == nullptr) return respond(std::move(answer));
      provider->Remove(pool, [respond, pool](const Result<void>& removed) {
        if (removed) return respond({.status = 204});
        respond(ProblemAnswer(
            Error{Code::kUnavailable, "the pool is gone, but what its machines came from is not: " +
                                          removed.error().reason}));
      });
    };
    AskSettings<void>(
        state, std::move(*held),
        [key = pool.pool](SettingsStore& store) { return store.DropPool(key.project, key.name); },
        [] { return HttpResponse{.status = 204}; });
  });
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
             [&state](Call call) { PutPool(state, std::move(call)); });
  router.Delete("/v1/pools/{pool}", Needs::kAdmin,
                [&state](Call call) { DropPool(state, std::move(call)); });
  router.Put("/v1/pools/{pool}/machines", Needs::kOperator, {.json_bytes = kJsonBytes},
             [&state](Call call) { SetMachines(state, std::move(call)); });
  router.Post("/v1/pools/{pool}/forgive", Needs::kOperator,
              {.json_bytes = kJsonBytes, .may_be_absent = true},
              [&state](Call call) { Forgive(state, std::move(call)); });
  router.Get("/v1/pools/{pool}", Needs::kViewer,
             [&state](Call call) { ShowPool(state, std::move(call)); });
  router.Get("/v1/pools", Needs::kViewer,
             [&state](Call call) { ListPools(state, std::move(call)); });
}

}  // namespace tidemill
