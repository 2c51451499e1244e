// SPDX-License-Identifier: Apache-2.0
#include "server/http/api.h"

#include <utility>

namespace tidemill {
namespace {

std::unique_ptr<Packs> PacksOf(const ApiOptions& options) {
  if (options.objects == nullptr || options.logs_worker == nullptr) return nullptr;
  const auto place = options.objects->Find(options.objects_url);
  return place ? std::make_unique<Packs>(*place->store, *options.logs_worker) : nullptr;
}

}  // namespace

Api::Api(Server& server, SettingsStore& settings, Random& random, Log& log, ApiOptions options)
    : state_{server,
             settings,
             random,
             log,
             options,
             Gate(options.people),
             Gate(options.agents),
             Guard(server, state_.people, log),
             JobNames(server.jobs()),
             Gate(options.logs),
             PacksOf(options),
             Outlook(server.deps()),
             StreamDesk(
                 server.deps().loop, log, [&server](StreamId stream) { server.EndStream(stream); },
                 options.stream_look)},
      router_([this](Needs needs, std::string action, Call call, Router::Route route) {
        state_.guard.Admit(needs, std::move(action), std::move(call), std::move(route));
      }) {
  AddAgentRoutes(router_, state_);
  AddJobRoutes(router_, state_);
  AddItemRoutes(router_, state_);
  AddResultRoutes(router_, state_);
  AddLogRoutes(router_, state_);
  AddMachineRoutes(router_, state_);
  AddBlobRoutes(router_, state_);
  AddAccessRoutes(router_, state_);
  AddWhyRoutes(router_, state_);
  AddCostRoutes(router_, state_);
  AddNotifyRoutes(router_, state_);
  AddPoolRoutes(router_, state_);
  AddQueueRoutes(router_, state_);
  AddSpecRoutes(router_, state_);
  AddSecretRoutes(router_, state_);
  AddRoleRoutes(router_, state_);
  AddStreamRoutes(router_, state_);
  AddTokenRoutes(router_, state_);
  AddHealthRoutes(router_, state_);
}

}  // namespace tidemill
