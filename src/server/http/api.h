// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/random.h"
#include "base/seal.h"
#include "logs/shelf/packs.h"
#include "model/image.h"
#include "net/http_server.h"
#include "objects/open.h"
#include "server/http/gate.h"
#include "server/http/guard.h"
#include "server/http/job_names.h"
#include "server/http/router.h"
#include "server/http/stream_desk.h"
#include "server/outlook.h"
#include "server/server.h"
#include "store/notify_store.h"
#include "store/settings_store.h"

namespace tidemill {

struct ApiOptions {
  Gate::Limits people = {.under_way = 2, .waiting = 1000};
  // Joins, and agents that fetch the items of a chunk: as many as a large fleet has at once.
  Gate::Limits agents = {.under_way = 2, .waiting = 20'000};
  std::shared_ptr<const KeyRing> keys = {};  // for secrets; null: this server has none
  // Asks the registry of an image what its tag stands for, as Registries::ResolveDigest does; null:
  // nobody does.
  std::function<void(const ImageName&, std::optional<RegistryLogin>, Reply<std::string>)>
      find_digest = {};
  // What the image of a digest says of itself, as Registries::ReadConfig does; null: nobody does.
  std::function<void(const ImageName&, const std::string& digest, std::optional<RegistryLogin>,
                     Reply<ImageConfig>)>
      read_config = {};
  // The deployment's own object store, and where in it everything is; null and empty: there is
  // none.
  ObjectStores* objects = nullptr;
  std::string objects_url = {};
  Worker* logs_worker = nullptr;  // unpacks and searches logs; there if `objects` is
  // Each has some frames of logs in memory.
  Gate::Limits logs = {.under_way = 4, .waiting = 100};
  NotifyStore* notify = nullptr;  // null: nobody is told of jobs
  // Whether a spec's `notify` may be called from here, as far as it shows; null: nobody asks.
  std::function<Result<void>(const std::string& document)> may_notify = {};
  std::function<std::size_t()> connections = [] { return std::size_t{0}; };  // for the metrics
  Duration stream_look = StreamDesk::kLookTime;
};

// What all routes share. Loop thread only.
struct ApiState {
  Server& server;
  SettingsStore& settings;  // called on the server's workers only
  Random& random;
  Log& log;
  const ApiOptions options;
  Gate people;
  Gate agents;
  Guard guard;
  JobNames names;
  Gate logs;
  std::unique_ptr<Packs> packs;  // null: there is no object store
  Outlook outlook;
  StreamDesk streams;
  bool stopping = false;
};

// The HTTP face of a server: paths and bodies become calls, results become answers. It decides
// nothing and keeps nothing. schema/openapi.yaml is the contract. Loop thread only; must outlive
// every call that is under way.
class Api {
 public:
  Api(Server& server, SettingsStore& settings, Random& random, Log& log, ApiOptions options);

  void Handle(HttpRequest request, HttpRespond respond) const {
    router_.Handle(std::move(request), std::move(respond));
  }
  // What is decided before its body is read.
  HttpAdmission Foresee(const HttpRequest& head) const {
    const std::optional<Needs> needs = router_.NeedsOf(head);
    return needs ? state_.guard.Foresee(*needs, head) : HttpAdmission{.reads_body = false};
  }
  // From now on no one is let wait, and /healthz says so. Streams end.
  void BeginStop() {
    state_.stopping = true;
    state_.streams.EndAll();
  }
  bool idle() const { return state_.people.idle() && state_.agents.idle() && state_.logs.idle(); }

 private:
  ApiState state_;
  Router router_;
};

// Each adds the routes of one kind.
void AddJobRoutes(Router& router, ApiState& state);
void AddItemRoutes(Router& router, ApiState& state);
void AddResultRoutes(Router& router, ApiState& state);
void AddLogRoutes(Router& router, ApiState& state);
void AddMachineRoutes(Router& router, ApiState& state);
void AddAgentRoutes(Router& router, ApiState& state);
void AddBlobRoutes(Router& router, ApiState& state);
void AddAccessRoutes(Router& router, ApiState& state);
void AddWhyRoutes(Router& router, ApiState& state);
void AddCostRoutes(Router& router, ApiState& state);
void AddNotifyRoutes(Router& router, ApiState& state);
void AddPoolRoutes(Router& router, ApiState& state);
void AddQueueRoutes(Router& router, ApiState& state);
void AddSpecRoutes(Router& router, ApiState& state);
void AddSecretRoutes(Router& router, ApiState& state);
void AddRoleRoutes(Router& router, ApiState& state);
void AddStreamRoutes(Router& router, ApiState& state);
void AddTokenRoutes(Router& router, ApiState& state);
void AddHealthRoutes(Router& router, ApiState& state);

}  // namespace tidemill
